import type { Deployment } from '../../contract.ts'
import { toPageNumber } from '../../routing/search.ts'
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

/** The orders of the list besides that from new to old */
export const sorts = ['name', 'status', '-requests', '-cost'] as const satisfies DeploymentFilter['sort'][]

export interface ListSearch {
  /** The person's own deployments, or those of the organization, instead of all that they may call. */
  whose?: 'own' | 'team' | undefined
  /** `all` includes terminated deployments. */
  show?: 'all' | undefined
  /** A name, an alias, an owner or the start of an id */
  q?: string | undefined
  status?: Deployment['status'] | undefined
  /** The id of the owner */
  owner?: string | undefined
  sort?: (typeof sorts)[number] | undefined
  /** The page number, from 1, as typed in the URL. */
  page?: string | undefined
}

/** The filter of the list query for the search parameters; an invalid page number means page 1. */
export const toFilter = ({ whose, show, q, status, owner, sort, page }: ListSearch): DeploymentFilter => ({
  // Who looks for terminated ones must not ask for them twice.
  all: show === 'all' || status === 'terminated',
  ...(whose !== undefined && { whose }),
  ...(q !== undefined && { q }),
  ...(status !== undefined && { status }),
  ...(Number(owner) > 0 && { owner: Number(owner) }),
  ...(sort !== undefined && { sort }),
  page: toPageNumber(page),
})
