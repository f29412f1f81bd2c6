import type { Services } from '../../services.ts'
import { listDeployableModels } from './find-variant.ts'
import { isCommit } from './is-commit.ts'

/** Counts the Hub repositories of the installation's enabled models, and names those without a commit. */
export async function listUnpinnedRepositories(
  deps: Pick<Services, 'db'>,
): Promise<{ unpinned: string[]; total: number }> {
  const models = await listDeployableModels(deps, null)
  const pinned = new Map<string, boolean>()
  for (const { weights } of models.flatMap(({ variants }) => variants)) {
    if (weights.kind !== 'huggingface') continue
    pinned.set(weights.repo, (pinned.get(weights.repo) ?? true) && isCommit(weights.revision))
  }
  const unpinned = [...pinned].filter(([, isPinned]) => !isPinned).map(([repo]) => repo)
  return { unpinned, total: pinned.size }
}
