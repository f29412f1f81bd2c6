import type { DeployableModel, Placement } from '../../../../server/src/contract.ts'
import type { CatalogSearch } from './catalog-search.ts'
import { listFormats, listSizes } from '../../domain/models/variants.ts'

/** Ranges of sizes in billions of parameters, by their word in the address; the end is not within. */
export const sizeRanges = {
  'under-1': [0, 1],
  '1-4': [1, 4],
  '4-10': [4, 10],
  '10-40': [10, 40],
  'over-40': [40, Infinity],
} as const

export type SizeRange = keyof typeof sizeRanges

/** A model as the catalog shows it, reduced to the sizes that the filters leave. */
export interface CatalogEntry {
  model: DeployableModel
  sizes: number[]
  formats: string[]
  /** null while it is not known what fits */
  fit: Fit | null
}

export interface Fit {
  /** How many of the sizes have a variant that fits */
  sizes: number
  /** The least that an hour costs of what fits; null where nothing fits or no price is known */
  pricePerHour: string | null
  /** The least that any of it needs, in bytes; null where there is no hardware at all */
  memoryBytes: number | null
}

/** The values that the filters can have, each list in alphabetic order. */
export interface FilterChoices {
  providers: string[]
  families: string[]
}

/** Drops from an address what is no filter of this catalog, so that what is applied is what the controls show. */
export function readFilters(search: CatalogSearch, models: readonly DeployableModel[]): CatalogSearch {
  const { providers, families } = listChoices(search, models)
  const known = (value: string | undefined, values: readonly string[]) =>
    value !== undefined && values.includes(value) ? value : undefined
  return {
    q: search.q,
    fits: search.fits,
    type: known(search.type, ['LLM', 'embedding']),
    provider: known(search.provider, providers),
    family: known(search.family, families),
    size: known(search.size, Object.keys(sizeRanges)),
  }
}

/** The providers, and the families of the chosen provider. */
export function listChoices(
  { provider }: Pick<CatalogSearch, 'provider'>,
  models: readonly DeployableModel[],
): FilterChoices {
  const sort = (values: string[]) => [...new Set(values)].toSorted((one, other) => one.localeCompare(other))
  const providers = sort(models.map((model) => model.provider))
  const ofProvider = provider !== undefined && providers.includes(provider)
  const families = models.filter((model) => !ofProvider || model.provider === provider)
  return { providers, families: sort(families.map((model) => model.family)) }
}

/** The models that match all filters, in the catalog's order; without placements `fits` filters nothing. */
export function listEntries(
  models: readonly DeployableModel[],
  placements: readonly Placement[] | undefined,
  filters: CatalogSearch,
): CatalogEntry[] {
  const byModel = placements && Map.groupBy(placements, ({ model_id }) => model_id)
  const words = (filters.q ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  return models
    .filter(
      (model) =>
        (filters.type === undefined || model.model_type === filters.type) &&
        (filters.provider === undefined || model.provider === filters.provider) &&
        (filters.family === undefined || model.family === filters.family) &&
        matches(model, words),
    )
    .map((model) => toEntry(model, byModel && (byModel.get(model.id) ?? []), filters.size))
    .filter(({ sizes, fit }) => sizes.length > 0 && (filters.fits !== 'yes' || !fit || fit.sizes > 0))
}

function matches(model: DeployableModel, words: readonly string[]): boolean {
  const { display_name, model_name, provider, family, description, tags } = model
  const hay = [display_name, model_name, provider, family, description, ...tags].join(' ').toLowerCase()
  return words.every((word) => hay.includes(word))
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

/** What fits of some placements, what the cheapest of these costs, and the least that any needs. */
function summarize(placements: readonly Placement[]): Fit {
  const fitting = placements.filter(({ feasible }) => feasible)
  const prices = fitting.flatMap(({ price_per_hour }) => price_per_hour ?? [])
  const memory = placements.flatMap(({ memory_bytes }) => memory_bytes ?? [])
  return {
    sizes: new Set(fitting.map((placement) => placement.model_size_in_billions)).size,
    pricePerHour: prices.toSorted((one, other) => Number(one) - Number(other))[0] ?? null,
    memoryBytes: memory.length > 0 ? Math.min(...memory) : null,
  }
}
