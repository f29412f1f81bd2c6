import { readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'

/** The catalog's filters. They live in the URL, so that links and the back button keep them. */
export interface CatalogSearch {
  q?: string | undefined
  type?: string | undefined
  provider?: string | undefined
  family?: string | undefined
  size?: string | undefined
  license?: string | undefined
  context?: string | undefined
  fits?: 'yes' | undefined
  /** Undefined for the order of the catalog */
  sort?: CatalogSort | undefined
}

/** The orders of the list: from A to Z, from small to large, from long to short, from cheap to expensive. */
export const catalogSorts = ['name', 'size', 'context', 'price'] as const

export type CatalogSort = (typeof catalogSorts)[number]

export const readCatalogSearch = (search: RawSearch): CatalogSearch => ({
  q: readText(search.q),
  type: readText(search.type),
  provider: readText(search.provider),
  family: readText(search.family),
  size: readText(search.size),
  license: readText(search.license),
  context: readText(search.context),
  fits: search.fits === 'yes' ? 'yes' : undefined,
  sort: catalogSorts.find((one) => one === search.sort),
})
