import type { Services } from '../../services.ts'
import { listDeployableModels } from './find-variant.ts'

/** True for a commit of the Hub, which never changes, unlike a branch or a tag. */
export function isCommit(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision)
}

/** The Hub repositories of enabled models: how many there are, and the names of those that aren't pinned to a commit. */
export async function listUnpinnedRepositories(
  deps: Pick<Services, 'db'>,
): Promise<{ unpinned: string[]; total: number }> {
  const models = await listDeployableModels(deps)
  const pinned = new Map<string, boolean>()
  for (const { weights } of models.flatMap(({ variants }) => variants)) {
    if (weights.kind !== 'huggingface') continue
    pinned.set(weights.repo, (pinned.get(weights.repo) ?? true) && isCommit(weights.revision))
  }
  const unpinned = [...pinned].filter(([, isPinned]) => !isPinned).map(([repo]) => repo)
  return { unpinned, total: pinned.size }
}
