import type { HubRepository, HubSession } from '../../ports/model-hub.ts'
import { refusedFiles } from './facts/formats.ts'
import { readLoraVariant } from './read-lora.ts'
import { readGgufVariants } from './read-gguf.ts'
import { readSafetensorsVariant } from './read-safetensors.ts'
import { openReader, sumBytes, toRefusedVariant } from './repository-reader.ts'
import type { RepositoryVariant } from './repository-reader.ts'

/** What a repository contains. */
export interface RepositoryContents {
  repository: HubRepository
  variants: RepositoryVariant[]
}

/** Reads a repository's descriptions and headers at a revision, no weights. Throws ModelHubError. */
export async function readRepository(
  session: HubSession,
  name: string,
  revision: string,
): Promise<RepositoryContents> {
  const repository = await session.describe(name, revision)
  const reader = openReader(session, repository)
  const groups = await Promise.all([
    readGgufVariants(reader),
    readSafetensorsVariant(reader),
    readLoraVariant(reader),
  ])
  return { repository, variants: [...groups.flat(), ...listRefused(repository)] }
}

/** The weights in formats that no engine loads, one variant per format. */
function listRefused({ files }: HubRepository): RepositoryVariant[] {
  return refusedFiles.flatMap(({ pattern, format, reason }) => {
    const found = files.filter(({ path }) => pattern.test(path))
    if (found.length === 0) return []
    return [toRefusedVariant(format, 'none', sumBytes(found), reason)]
  })
}
