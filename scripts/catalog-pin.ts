// Pins the Hugging Face repositories of the catalog file to their current commits, if these have the files
// that the catalog names. `npm run catalog:pin -- FILE` pins another file than CATALOG_FILE.
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { isMap, isNode, isScalar, parseDocument } from 'yaml'
import type { YAMLMap } from 'yaml'
import { ConfigError, readConfig } from '../server/src/config/config.ts'
import { readCatalogFile } from '../server/src/features/catalog/sources/file.ts'
import type { CatalogVariant } from '../server/src/features/catalog/model.ts'
import { isCommit } from '../server/src/features/catalog/is-commit.ts'
import { Hub, describeMissingFiles } from './hub.ts'

interface Edit {
  start: number
  end: number
  text: string
}

async function pin(): Promise<void> {
  const { positionals } = parseArgs({ allowPositionals: true })
  const { catalogFile, huggingFace } = readConfig(process.env)
  const path = positionals[0] ?? catalogFile
  const hub = new Hub(huggingFace)
  const variants = readCatalogFile(path).models.flatMap((model) => model.variants)
  const source = await readFile(path, 'utf8')
  const edits: Edit[] = []
  const problems: string[] = []
  for (const { weights, quantizations } of listEntries(source)) {
    const ofEntry = variants.splice(0, quantizations)
    if (ofEntry[0]?.weights.kind !== 'huggingface') continue
    try {
      edits.push(toEdit(source, weights, await findCommits(ofEntry, hub)))
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }
  if (edits.length > 0) await replaceFile(path, applyEdits(source, edits))
  console.log(`Pinned ${edits.length} of ${edits.length + problems.length} sources in ${path}.`)
  for (const problem of problems) console.error(`Not pinned: ${problem}`)
  if (problems.length > 0) process.exitCode = 1
}

/** The `weights` of each entry below `variants` and its number of quantizations, in the catalog's order. */
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
  for (const variant of variants) {
    if (variant.weights.kind !== 'huggingface') continue
    const { repo, revision } = variant.weights
    const snapshot = await hub.findSnapshot(repo, isCommit(revision) ? 'main' : revision)
    const missing = describeMissingFiles(variant, repo, snapshot)
    if (missing !== null) throw new Error(missing)
    commits.set(variant.quantization, snapshot.sha)
  }
  return commits
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
