// Compares the catalog file's Hugging Face repositories with the Hub: files, sizes, context lengths and
// licenses to accept. `npm run catalog:check -- FILE` compares another file than CATALOG_FILE. Exits with 1
// after a difference, and with 2 if it could not compare something.
import { parseArgs } from 'node:util'
import pLimit from 'p-limit'
import { z } from 'zod'
import { formatFileSize } from '../server/src/base/format-bytes.ts'
import { ConfigError, readConfig } from '../server/src/config/config.ts'
import { readCatalogFile } from '../server/src/features/catalog/sources/file.ts'
import type { CatalogVariant } from '../server/src/features/catalog/model.ts'
import { estimateWeightBytes } from '../server/src/features/placement/memory-estimate.ts'
import { Hub, HubError, describeMissingFiles } from './hub.ts'
import type { Snapshot } from './hub.ts'

const requestsAtOnce = 4
/** By how much a size may differ from the Hub's: one that the catalog names, and one that Berth estimates. */
const tolerance = { named: 0.01, estimated: 0.2 }

/** One size and format of a model, whose variants are in the same repository. */
interface Source {
  label: string
  repo: string
  revision: string
  variants: CatalogVariant[]
}

interface Comparison {
  source: Source
  size: string
  context: string
  access: string
  differences: string[]
  /** Why the Hub could not be asked; null if it answered */
  failure: string | null
}

async function check(): Promise<void> {
  const { positionals } = parseArgs({ allowPositionals: true })
  const { catalogFile, huggingFace } = readConfig(process.env)
  const sources = listSources(positionals[0] ?? catalogFile)
  const hub = new Hub(huggingFace)
  const obstacle = await hub.findObstacle()
  if (obstacle !== null) {
    console.error(`The hub at ${hub.endpoint} is not reachable: ${obstacle} Nothing was compared.`)
    process.exitCode = 2
    return
  }
  const limit = pLimit(requestsAtOnce)
  const comparisons = await limit.map(sources, (source) => compare(source, hub))
  console.log(formatTable(comparisons))
  const differing = comparisons.filter(({ differences }) => differences.length > 0).length
  const failed = comparisons.filter(({ failure }) => failure !== null).length
  console.log(`\n${differing} of ${comparisons.length} sources differ from ${hub.endpoint}.`)
  if (failed > 0) console.log(`${failed} could not be compared, because the hub did not answer.`)
  if (differing + failed > 0) process.exitCode = differing > 0 ? 1 : 2
}

function listSources(path: string): Source[] {
  const sources = new Map<string, Source>()
  for (const variant of readCatalogFile(path).models.flatMap((model) => model.variants)) {
    if (variant.weights.kind !== 'huggingface') continue
    const { repo, revision } = variant.weights
    const label = `${variant.modelName} ${variant.sizeInBillions}B ${variant.format}`
    const key = [label, repo, revision].join(' ')
    const source = sources.get(key) ?? { label, repo, revision, variants: [] }
    source.variants.push(variant)
    sources.set(key, source)
  }
  return [...sources.values()]
}

async function compare(source: Source, hub: Hub): Promise<Comparison> {
  const comparison = { source, size: '–', context: '–', access: '–', differences: [], failure: null }
  try {
    const snapshot = await hub.findSnapshot(source.repo, source.revision)
    const isGated = snapshot.gated !== false
    const sizes = source.variants.map((variant) => sumSizes(variant, snapshot))
    const context = await findContext(source, snapshot, hub)
    return {
      ...comparison,
      size: formatSizes(sizes),
      context: formatContext(source, context),
      access: isGated ? 'gated' : 'open',
      differences: [
        ...source.variants.map((variant) => describeMissingFiles(variant, source.repo, snapshot)),
        ...source.variants.map((variant, index) => compareSize(variant, sizes[index] ?? null)),
        compareContext(source, context),
        source.variants.every(({ gated }) => gated === isGated)
          ? null
          : `gated is ${!isGated}, but the hub says ${isGated}`,
      ].filter(
        (difference, index, all) => difference !== null && all.indexOf(difference) === index,
      ) as string[],
    }
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    return error.isFinal
      ? { ...comparison, differences: [error.message] }
      : { ...comparison, failure: error.message }
  }
}

/** The bytes of a variant's weights on the Hub; null if it doesn't say. */
function sumSizes({ weights }: CatalogVariant, { siblings }: Snapshot): number | null {
  if (weights.kind !== 'huggingface') return null
  const named = siblings.filter(({ rfilename }) => weights.files.includes(rfilename))
  const tensors = siblings.filter(({ rfilename }) => /^[^/]+\.safetensors$/.test(rfilename))
  // Some owners publish the same weights a second time in files of another layout.
  const sharded = tensors.filter(({ rfilename }) => !rfilename.startsWith('consolidated'))
  const binary = siblings.filter(({ rfilename }) => /^pytorch_model[^/]*\.bin$/.test(rfilename))
  const files = [named, sharded, tensors, binary].find((each) => each.length > 0) ?? []
  return files.reduce<number | null>(
    (sum, { size }) => (sum === null || size == null ? null : sum + size),
    files.length > 0 ? 0 : null,
  )
}

function compareSize(variant: CatalogVariant, size: number | null): string | null {
  if (size === null) return null
  const { weightBytes, quantization } = variant
  const expected = estimateWeightBytes(variant)
  const deviation = Math.abs(expected / size - 1)
  if (deviation <= (weightBytes === null ? tolerance.estimated : tolerance.named)) return null
  return weightBytes === null
    ? `${quantization} has ${size} bytes, but Berth estimates ${formatFileSize(expected)}; set weight_bytes`
    : `${quantization} has ${size} bytes, but weight_bytes is ${weightBytes}`
}

const lengthSchema = z.int().positive().optional().catch(undefined)
const lengthsSchema = z.object({
  max_position_embeddings: lengthSchema,
  n_positions: lengthSchema,
  max_seq_len: lengthSchema,
})
const configSchema = lengthsSchema.extend({ text_config: lengthsSchema.optional().catch(undefined) })

/** The context length that a repository states; null for none, or only after accepting a license. */
async function findContext({ repo, revision, variants }: Source, snapshot: Snapshot, hub: Hub) {
  if (snapshot.gguf?.context_length !== undefined) return snapshot.gguf.context_length
  const hasConfig = snapshot.siblings.some(({ rfilename }) => rfilename === 'config.json')
  if (!hasConfig || variants[0]?.format === 'ggufv2') return null
  const file = await hub.readJsonFile(repo, revision, 'config.json').catch((error: unknown) => {
    if (error instanceof HubError && error.isFinal) return null
    throw error
  })
  const parsed = configSchema.safeParse(file)
  if (!parsed.success) return null
  const { text_config: text, ...whole } = parsed.data
  return (
    [text, whole]
      .flatMap((lengths) => [lengths?.max_position_embeddings, lengths?.n_positions, lengths?.max_seq_len])
      .find((length) => length !== undefined) ?? null
  )
}

/** A shorter context than the Hub's is a choice of the catalog. */
function compareContext({ variants }: Source, context: number | null): string | null {
  const longest = Math.max(...variants.map(({ contextLength }) => contextLength))
  return context !== null && longest > context
    ? `context_length is ${longest}, but the model has ${context}`
    : null
}

function formatContext({ variants }: Source, context: number | null): string {
  const own = variants[0]?.contextLength
  return context === null ? '–' : own === context ? String(own) : `${own} of ${context}`
}

function formatSizes(sizes: readonly (number | null)[]): string {
  const known = sizes.filter((size) => size !== null)
  if (known.length === 0) return '–'
  const [least, most] = [Math.min(...known), Math.max(...known)].map(formatFileSize)
  return least === most ? least! : `${least} to ${most}`
}

function formatTable(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map(({ source, size, context, access, differences, failure }) => {
    const result = failure !== null ? `not compared: ${failure}` : differences.join(' ') || 'agrees'
    return [source.label, source.repo, size, context, access, result]
  })
  const table = [['MODEL', 'REPOSITORY', 'SIZE', 'CONTEXT', 'ACCESS', 'RESULT'], ...rows]
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)))
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

await check().catch((error: unknown) => {
  console.error(error instanceof ConfigError || error instanceof Error ? error.message : error)
  process.exitCode = 1
})
