// Pins the Hugging Face repositories of the catalog file to their current commits, after checking that they have the files that the
// catalog names. Other sources stay as they are. `npm run catalog:pin -- FILE` pins another file than CATALOG_FILE.
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import pRetry, { AbortError } from 'p-retry'
import { isMap, isNode, isScalar, parseDocument } from 'yaml'
import type { YAMLMap } from 'yaml'
import { z } from 'zod'
import { ConfigError, readConfig } from '../server/src/config/config.ts'
import { readCatalogFile } from '../server/src/features/catalog/sources/file.ts'
import type { CatalogVariant } from '../server/src/features/catalog/model.ts'
import { isCommit } from '../server/src/features/catalog/pins.ts'

const timeoutMs = 30_000

const revisionSchema = z.object({
  sha: z.string().refine(isCommit),
  siblings: z.array(z.object({ rfilename: z.string() })),
})
type Snapshot = z.output<typeof revisionSchema>

interface Hub {
  endpoint: string
  token: string | null
}

interface Edit {
  start: number
  end: number
  text: string
}

async function pin(): Promise<void> {
  const { positionals } = parseArgs({ allowPositionals: true })
  const { catalogFile, huggingFace } = readConfig(process.env)
  const path = positionals[0] ?? catalogFile
  const variants = readCatalogFile(path).models.flatMap((model) => model.variants)
  const source = await readFile(path, 'utf8')
  const edits: Edit[] = []
  const problems: string[] = []
  for (const { weights, quantizations } of listEntries(source)) {
    const ofEntry = variants.splice(0, quantizations)
    if (ofEntry[0]?.weights.kind !== 'huggingface') continue
    try {
      edits.push(toEdit(source, weights, await findCommits(ofEntry, huggingFace)))
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }
  if (edits.length > 0) await replaceFile(path, applyEdits(source, edits))
  console.log(`Pinned ${edits.length} of ${edits.length + problems.length} sources in ${path}.`)
  for (const problem of problems) console.error(`Not pinned: ${problem}`)
  if (problems.length > 0) process.exitCode = 1
}

/** The `weights` of each entry below `variants`, and the number of its quantizations, in the order of the catalog's variants. */
function listEntries(source: string): { weights: unknown; quantizations: number }[] {
  const document = parseDocument(source)
  const content = document.toJS() as { models: { sizes: { variants: { quantizations: string[] }[] }[] }[] }
  return content.models.flatMap(({ sizes }, model) =>
    sizes.flatMap(({ variants }, size) =>
      variants.map(({ quantizations }, variant) => ({
        weights: document.getIn(['models', model, 'sizes', size, 'variants', variant, 'weights'], true),
        quantizations: quantizations.length,
      })),
    ),
  )
}

/** The current commit per quantization. Throws if a repository can't be read or lacks a file. */
async function findCommits(variants: readonly CatalogVariant[], hub: Hub): Promise<Map<string, string>> {
  const commits = new Map<string, string>()
  for (const { weights, format, quantization, engines } of variants) {
    if (weights.kind !== 'huggingface') continue
    const { repo, revision, files } = weights
    const snapshot = await findSnapshot(repo, isCommit(revision) ? 'main' : revision, hub)
    const projector = format === 'ggufv2' ? engines.llamaCpp?.projector : undefined
    const needed = files.length === 0 ? ['config.json'] : [...files, ...(projector ? [projector] : [])]
    const present = new Set(snapshot.siblings.map(({ rfilename }) => rfilename))
    const missing = needed.filter((file) => !present.has(file))
    if (missing.length > 0) throw new Error(`${repo} has no ${missing.join(', ')}.`)
    if (files.length === 0 && ![...present].some((file) => /\.(safetensors|bin)$/.test(file))) {
      throw new Error(`${repo} has no weights.`)
    }
    commits.set(quantization, snapshot.sha)
  }
  return commits
}

const snapshots = new Map<string, Promise<Snapshot>>()

function findSnapshot(repo: string, revision: string, hub: Hub): Promise<Snapshot> {
  const path = `${repo}/revision/${encodeURIComponent(revision)}`
  const url = `${hub.endpoint}/api/models/${path}`
  const found =
    snapshots.get(path) ??
    pRetry(() => fetchSnapshot(url, repo, hub.token), { retries: 2, minTimeout: 2_000 })
  snapshots.set(path, found)
  return found
}

/** Throws an AbortError if another attempt can't help. */
async function fetchSnapshot(url: string, repo: string, token: string | null): Promise<Snapshot> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  const signal = AbortSignal.timeout(timeoutMs)
  const response = await fetch(url, { headers, signal }).catch((error: unknown) => {
    throw new Error(`${repo}: ${String((error as Error).cause ?? error)}.`)
  })
  const { ok, status } = response
  if (ok) {
    const parsed = revisionSchema.safeParse(await response.json().catch(() => null))
    if (parsed.success) return parsed.data
    throw new AbortError(`${repo}: the Hub's answer names no commit and files.`)
  }
  const reason = `${repo}: the Hub answered ${status}.`
  if (status === 429 || status >= 500) throw new Error(reason)
  const isLocked = status === 401 || status === 403
  throw new AbortError(isLocked ? `${reason} Accept its license on the Hub, and set HF_TOKEN.` : reason)
}

/** Writes one commit, or one per quantization where their repositories differ. */
function toEdit(source: string, weights: unknown, commits: ReadonlyMap<string, string>): Edit {
  const distinct = new Set(commits.values())
  const text =
    distinct.size === 1
      ? JSON.stringify([...distinct][0])
      : `{ ${[...commits].map(([quantization, commit]) => `${JSON.stringify(quantization)}: "${commit}"`).join(', ')} }`
  const repository = isMap(weights) ? weights.get('huggingface', true) : undefined
  if (!isMap(weights) || !isScalar(repository) || !repository.range) {
    throw new Error('An alias in the file can not be pinned. Repeat what it stands for.')
  }
  const value = weights.get('revision', true)
  if (isNode(value) && value.range) return { start: value.range[0], end: value.range[1], text }
  const [, end] = repository.range
  return { start: end, end, text: `${separatorOf(source, weights)}revision: ${text}` }
}

function separatorOf(source: string, weights: YAMLMap): string {
  if (weights.flow === true) return ', '
  const start = weights.range?.[0] ?? 0
  return `\n${' '.repeat(start - source.lastIndexOf('\n', start - 1) - 1)}`
}

function applyEdits(source: string, edits: readonly Edit[]): string {
  return edits
    .toSorted((one, other) => other.start - one.start)
    .reduce(
      (text, { start, end, text: inserted }) => text.slice(0, start) + inserted + text.slice(end),
      source,
    )
}

/** A complete and valid file takes the place of the old one. */
async function replaceFile(path: string, text: string): Promise<void> {
  const unfinished = `${path}.${process.pid}`
  try {
    await writeFile(unfinished, text)
    readCatalogFile(unfinished)
    await rename(unfinished, path)
  } finally {
    await rm(unfinished, { force: true })
  }
}

await pin().catch((error: unknown) => {
  console.error(error instanceof ConfigError || error instanceof Error ? error.message : error)
  process.exitCode = 1
})
