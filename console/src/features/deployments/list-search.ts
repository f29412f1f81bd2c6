/** The search parameters of the deployments list. */
export interface ListSearch {
  /** `all` includes terminated deployments. */
  show?: 'all' | undefined
  /** The page number, from 1, as typed in the URL. */
  page?: string | undefined
}

/** The filter of the list query for the search parameters; an invalid page number means page 1. */
export const toFilter = ({ show, page }: ListSearch) => ({
  all: show === 'all',
  page: Math.max(1, Math.trunc(Number(page)) || 1),
})
