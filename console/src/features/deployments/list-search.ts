import type { DeploymentFilter } from '../../domain/deployments/queries.ts'

export interface ListSearch {
  /** `yes` lists the deployments of the organization instead of the person's own. */
  team?: 'yes' | undefined
  /** `all` includes terminated deployments. */
  show?: 'all' | undefined
  /** The page number, from 1, as typed in the URL. */
  page?: string | undefined
}

/** The filter of the list query for the search parameters; an invalid page number means page 1. */
export const toFilter = ({ team, show, page }: ListSearch): DeploymentFilter => ({
  team: team === 'yes',
  all: show === 'all',
  page: Math.max(1, Math.trunc(Number(page)) || 1),
})
