import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { startHubServer } from '../support/hub/hub-server.ts'
import type { HubServer } from '../support/hub/hub-server.ts'
import { makeFolder } from './local-runtime-support.ts'

/**
 * A repository in a test of the catalog's tools: files with their sizes, and the digit that its commit
 * consists of.
 */
export interface HubRepository {
  digit: string
  files: Record<string, number | undefined>
  gated?: 'manual' | 'auto'
  /** The content of config.json; without it nobody may read the file */
  config?: unknown
  /** The context length in the header of its GGUF files */
  ggufContext?: number
}

export const commit = (digit: string) => digit.repeat(40)

/**
 * Starts a hub with `repositories`, named `owner/name@revision`. It answers 503 where `fails` says so, and
 * closes after the test.
 */
export async function startHub(
  repositories: Readonly<Record<string, HubRepository>>,
  { fails = () => false }: { fails?: (attempt: number) => boolean } = {},
): Promise<HubServer> {
  const described = Object.entries(repositories).map(([key, repository]) => {
    const [name = '', revision = 'main'] = key.split('@')
    return [name, toRepository(revision, repository)] as const
  })
  const hub = await startHubServer(Object.fromEntries(described), {
    intercept(request, response, attempt) {
      const isFailing = fails(attempt)
      if (isFailing) response.writeHead(503).end()
      return isFailing
    },
  })
  onTestFinished(() => hub.close())
  return hub
}

function toRepository(revision: string, { digit, files, gated, config, ggufContext }: HubRepository) {
  const sizes = Object.entries(files).flatMap(([name, size]) => (size === undefined ? [] : [[name, size]]))
  const content = config === undefined ? {} : { 'config.json': Buffer.from(JSON.stringify(config)) }
  return {
    commit: commit(digit),
    revisions: [revision],
    files: { ...(Object.fromEntries(sizes) as Record<string, number>), ...content },
    ...(gated === undefined ? {} : { gated }),
    ...(ggufContext === undefined ? {} : { gguf: { context_length: ggufContext } }),
  }
}

/** Runs a tool of `scripts/` on a catalog file with the text, against the hub at `origin`. */
export async function runCatalogTool(tool: 'catalog-pin' | 'catalog-check', text: string, origin: string) {
  const folder = await makeFolder()
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'models.yaml')
  await writeFile(file, text)
  const program = resolve(import.meta.dirname, `../../../scripts/${tool}.ts`)
  const env = {
    PATH: process.env.PATH ?? '',
    HF_ENDPOINT: origin,
    HF_TOKEN: 'hf_secret',
    CATALOG_FILE: file,
  }
  const run = await promisify(execFile)(process.execPath, [program], { env, timeout: 60_000 }).then(
    (output) => ({ code: 0, ...output }),
    (error: unknown) => error as { code: number; stdout: string; stderr: string },
  )
  return { file, run }
}
