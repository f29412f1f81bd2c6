import type { Deployment } from '../../contract.ts'
import type { DeploymentFilter } from '../../domain/deployments/queries.ts'

/** The statuses that the list can be filtered by */
export const statuses = [
  'requested',
  'provisioning',
  'deploying',
  'running',
  'sleeping',
  'failed',
  'terminating',
  'terminated',
] as const satisfies Deployment['status'][]

export interface ListSearch {
  /** `yes` lists the deployments of the organization instead of the person's own. */
  team?: 'yes' | undefined
  /** `all` includes terminated deployments. */
  show?: 'all' | undefined
  /** A name, an alias, an owner or the start of an id */
  q?: string | undefined
  status?: Deployment['status'] | undefined
  /** The page number, from 1, as typed in the URL. */
  page?: string | undefined
}

/** The filter of the list query for the search parameters; an invalid page number means page 1. */
export const toFilter = ({ team, show, q, status, page }: ListSearch): DeploymentFilter => ({
  team: team === 'yes',
  // Who looks for terminated ones must not ask for them twice.
  all: show === 'all' || status === 'terminated',
  ...(q !== undefined && { q }),
  ...(status !== undefined && { status }),
  page: Math.max(1, Math.trunc(Number(page)) || 1),
})
