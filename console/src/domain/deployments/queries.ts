import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { callApi, isNotFound } from '../../api/client.ts'
import type { Deployment, ListQuery } from '../../contract.ts'
import { toInput } from './reference.ts'
import { isChanging } from './status.ts'

/** Poll interval in milliseconds while a deployment changes. */
const changingInterval = 2_000
/** Poll interval in milliseconds while nothing changes. */
export const steadyInterval = 15_000

/** Whether a deployment or one of its instances is about to change. */
const isUnsettled = (deployment: Deployment) =>
  isChanging(deployment) || deployment.instances.some(({ status }) => status !== 'running')

/** Deployments per page of the list. */
export const pageSize = 50

export interface DeploymentFilter {
  /** Own ones, or the visible ones of the organization, instead of all that the person may call */
  whose?: 'own' | 'team'
  sort?: NonNullable<ListQuery['sort']>
  /** Whether to include terminated ones */
  all: boolean
  q?: string
  status?: Deployment['status']
  owner?: number
  page: number
}

/** One page (from 1) of deployments, newest first: all of them, or only those that are not terminated. */
export const deploymentsQuery = (filter: DeploymentFilter) =>
  queryOptions({
    queryKey: ['deployments', 'list', filter],
    queryFn: ({ signal }) =>
      callApi('GET', '/api/v1/model-deployments', {
        query: {
          scope: filter.whose === undefined ? 'callable' : filter.whose === 'own' ? 'own' : 'organization',
          active: !filter.all,
          sort: filter.sort,
          counts: true,
          q: filter.q,
          owner: filter.owner,
          status: filter.status && [filter.status],
          limit: pageSize,
          offset: (filter.page - 1) * pageSize,
        },
        signal,
      }),
    refetchInterval: ({ state }) => (state.data?.items.some(isUnsettled) ? changingInterval : steadyInterval),
    placeholderData: keepPreviousData,
  })

/** The newest deployments of one kind that are not terminated. */
const newestQuery = (scope: 'own' | 'organization') =>
  queryOptions({
    queryKey: ['deployments', scope],
    queryFn: ({ signal }) =>
      callApi('GET', '/api/v1/model-deployments', { query: { scope, active: true, limit: 500 }, signal }),
  })

/** The newest deployments of the organization that are not terminated, for an admin to choose from. */
export const organizationDeploymentsQuery = newestQuery('organization')

/** The newest of the person's own deployments that are not terminated, in all of their organizations. */
export const ownDeploymentsQuery = newestQuery('own')

/** One deployment, polled more often while it changes. */
export const deploymentQuery = (id: string) =>
  queryOptions({
    queryKey: ['deployments', 'one', id],
    queryFn: ({ signal }) =>
      callApi('GET', '/api/v1/model-deployments/{deployment_id}', { ...toInput(id), signal }),
    refetchInterval: ({ state: { data, error } }) =>
      data?.status === 'terminated' || isNotFound(error)
        ? false
        : data && isUnsettled(data)
          ? changingInterval
          : steadyInterval,
  })
