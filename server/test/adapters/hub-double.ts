import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { makeFolder, startServer } from './local-runtime-support.ts'
import type { FileServer } from './local-runtime-support.ts'

/** A repository of the double: files with their sizes, and the digit that its commit consists of. */
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

/** A local server that speaks the Hub's API. It has `repositories`, named `owner/name@revision`, and answers 503 where `fails` says so. */
export async function startHub(
  repositories: Readonly<Record<string, HubRepository>>,
  { fails = () => false }: { fails?: (attempt: number) => boolean } = {},
): Promise<FileServer> {
  return startServer((request, response, attempt) => {
    const { pathname } = new URL(request.url ?? '/', 'http://hub')
    if (fails(attempt)) return void response.writeHead(503).end()
    if (pathname === '/api/models') return void response.end('[]')
    const [, described] = /^\/api\/models\/(.+)$/.exec(pathname) ?? []
    const [, owner, read] = /^\/(.+)\/resolve\/(.+)\/config\.json$/.exec(pathname) ?? []
    const found = repositories[described?.replace('/revision/', '@') ?? `${owner}@${read}`]
    if (found === undefined) return void response.writeHead(401).end()
    if (described === undefined) {
      if (found.config === undefined) return void response.writeHead(403).end()
      return void response.end(JSON.stringify(found.config))
    }
    const { digit, files, gated = false, ggufContext } = found
    const siblings = Object.entries(files).flatMap(([rfilename, size]) =>
      size === undefined ? [] : [{ rfilename, size }],
    )
    const gguf = ggufContext === undefined ? undefined : { context_length: ggufContext }
    response.end(JSON.stringify({ sha: commit(digit), gated, siblings, gguf }))
  })
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
