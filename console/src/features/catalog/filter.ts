import type { DeployableModel, Placement } from '../../contract.ts'
import { text } from '../../text/index.ts'
import type { CatalogSearch, CatalogSort } from './catalog-search.ts'
import { listFormats, listSizes } from '../../domain/models/variants.ts'

/** Half-open size ranges in billions of parameters, by their value in the URL. */
export const sizeRanges = {
  'under-1': [0, 1],
  '1-4': [1, 4],
  '4-10': [4, 10],
  '10-40': [10, 40],
  'over-40': [40, Infinity],
} as const

export type SizeRange = keyof typeof sizeRanges

/** Least contexts in tokens, by their value in the URL. */
export const contextLengths = { '8k': 8_192, '32k': 32_768, '128k': 131_072, '256k': 262_144 } as const

export type ContextLength = keyof typeof contextLengths

/** A model in the catalog, reduced to the sizes that match the filters. */
export interface CatalogEntry {
  model: DeployableModel
  sizes: number[]
  formats: string[]
  /** Null until placements are known. */
  fit: Fit | null
}

export interface Fit {
  /** The number of sizes with a variant that fits. */
  sizes: number
  /** The lowest hourly price of a fitting variant; null if none fits or no price is known. */
  pricePerHour: string | null
  /** Whether every fitting variant has that price. */
  isOnePrice: boolean
  /** The least memory that a variant needs, in bytes; null without any hardware. */
  memoryBytes: number | null
}

/** The filter options, in alphabetical order. */
export interface FilterOptions {
  providers: string[]
  families: string[]
  licenses: string[]
}

/** Drops filter values that this catalog lacks, so that the controls show all applied filters. */
export function readFilters(search: CatalogSearch, models: readonly DeployableModel[]): CatalogSearch {
  const { providers, families, licenses } = listFilterOptions(search, models)
  const known = (value: string | undefined, values: readonly string[]) =>
    value !== undefined && values.includes(value) ? value : undefined
  return {
    q: search.q,
    fits: search.fits,
    type: known(search.type, ['LLM', 'embedding', 'rerank']),
    provider: known(search.provider, providers),
    family: known(search.family, families),
    size: known(search.size, Object.keys(sizeRanges)),
    license: known(search.license, licenses),
    context: known(search.context, Object.keys(contextLengths)),
  }
}

/** The providers, the families of the selected provider, and the licenses. */
export function listFilterOptions(
  { provider }: Pick<CatalogSearch, 'provider'>,
  models: readonly DeployableModel[],
): FilterOptions {
  const sort = (values: string[]) => [...new Set(values)].toSorted((one, other) => one.localeCompare(other))
  const providers = sort(models.map((model) => model.provider))
  const ofProvider = provider !== undefined && providers.includes(provider)
  const families = models.filter((model) => !ofProvider || model.provider === provider)
  return {
    providers,
    families: sort(families.map((model) => model.family)),
    licenses: sort(models.flatMap(({ license }) => license ?? [])),
  }
}

/** The matching models in their order. The `fits` filter and prices wait until placements are known. */
export function listEntries(
  models: readonly DeployableModel[],
  placements: readonly Placement[] | undefined,
  filters: CatalogSearch,
): CatalogEntry[] {
  const byModel = placements && Map.groupBy(placements, ({ model_id }) => model_id)
  const words = (filters.q ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const leastContext = contextLengths[filters.context as ContextLength] ?? 0
  const entries = models
    .filter(
      (model) =>
        (filters.type === undefined || model.model_type === filters.type) &&
        (filters.provider === undefined || model.provider === filters.provider) &&
        (filters.family === undefined || model.family === filters.family) &&
        (filters.license === undefined || model.license === filters.license) &&
        model.context_tokens >= leastContext &&
        matches(model, words),
    )
    .map((model) => toEntry(model, byModel && (byModel.get(model.id) ?? []), filters.size))
    .filter(({ sizes, fit }) => sizes.length > 0 && (filters.fits !== 'yes' || !fit || fit.sizes > 0))
  return filters.sort === undefined ? entries : entries.toSorted(comparisons[filters.sort])
}

const comparisons: Record<CatalogSort, (one: CatalogEntry, other: CatalogEntry) => number> = {
  name: (one, other) => one.model.display_name.localeCompare(other.model.display_name),
  size: (one, other) => one.sizes[0]! - other.sizes[0]!,
  context: (one, other) => other.model.context_tokens - one.model.context_tokens,
  // Models without a price come last.
  price: (one, other) => priceOf(one) - priceOf(other),
}

const priceOf = ({ fit }: CatalogEntry) => Number(fit?.pricePerHour ?? Number.MAX_VALUE)

/** Formats a context in tokens as the names of models do: 512, 8K, 128K, 1M */
export function formatContext(tokens: number): string {
  if (tokens < 1_024) return `${tokens}`
  const thousands = Math.round(tokens / 1_024)
  return thousands < 1_024 ? `${thousands}K` : `${Math.round(thousands / 102.4) / 10}M`
}

/** Tags that a row shows otherwise: as the kind, or by the context. */
const shownTags = new Set(['chat', 'embedding', 'rerank', 'long-context'])

/** The provider, license, context and tags of a model, without its kind and the words of its name. */
export function describeModel(model: DeployableModel): string[] {
  const { provider, license, context_tokens: context, tags, display_name } = model
  const shown = display_name.toLowerCase()
  const isNew = (tag: string) => !shownTags.has(tag) && !shown.includes(tag.toLowerCase())
  const facts = [license ?? [], text.catalogList.contextOf(formatContext(context))].flat()
  return [provider, ...facts, ...tags.filter(isNew)]
}

function matches(model: DeployableModel, words: readonly string[]): boolean {
  const { display_name, model_name, provider, family, description, tags } = model
  const haystack = [display_name, model_name, provider, family, description, ...tags].join(' ').toLowerCase()
  return words.every((word) => haystack.includes(word))
}

function toEntry(
  model: DeployableModel,
  placements: readonly Placement[] | undefined,
  size: string | undefined,
): CatalogEntry {
  const [least, end] = sizeRanges[size as SizeRange] ?? [0, Infinity]
  const inRange = (one: { model_size_in_billions: number }) =>
    one.model_size_in_billions >= least && one.model_size_in_billions < end
  const variants = model.variants.filter(inRange)
  return {
    model,
    sizes: listSizes({ variants }),
    formats: listFormats({ variants }),
    fit: placements ? summarize(placements.filter(inRange)) : null,
  }
}

function summarize(placements: readonly Placement[]): Fit {
  const fitting = placements.filter(({ feasible }) => feasible)
  const prices = fitting.flatMap(({ price_per_hour }) => price_per_hour ?? [])
  const memory = placements.flatMap(({ memory_bytes }) => memory_bytes ?? [])
  return {
    sizes: new Set(fitting.map((placement) => placement.model_size_in_billions)).size,
    isOnePrice: new Set(prices).size === 1,
    pricePerHour: prices.toSorted((one, other) => Number(one) - Number(other))[0] ?? null,
    memoryBytes: memory.length > 0 ? Math.min(...memory) : null,
  }
}
