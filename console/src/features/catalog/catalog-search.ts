import { readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'

/** The catalog's filters. They live in the URL, so that links and the back button keep them. */
export interface CatalogSearch {
  q?: string | undefined
  type?: string | undefined
  provider?: string | undefined
  family?: string | undefined
  size?: string | undefined
  fits?: 'yes' | undefined
}

export const readCatalogSearch = (search: RawSearch): CatalogSearch => ({
  q: readText(search.q),
  type: readText(search.type),
  provider: readText(search.provider),
  family: readText(search.family),
  size: readText(search.size),
  fits: search.fits === 'yes' ? 'yes' : undefined,
})
