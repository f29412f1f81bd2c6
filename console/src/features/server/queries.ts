import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'

/** Poll intervals in milliseconds; the doctor and the health ask other servers. */
const closely = 2_000
const often = 10_000
const seldom = 60_000

export const machinesQuery = queryOptions({
  queryKey: ['installation', 'machines'],
  queryFn: ({ signal }) => callApi('GET', '/v1/installation/machines', { signal }),
  // A machine that leaves is missed within five seconds.
  refetchInterval: ({ state: { data } }) => ((data?.machines.length ?? 0) > 0 ? closely : often),
})

export const waitingQuery = queryOptions({
  queryKey: ['installation', 'waiting'],
  queryFn: ({ signal }) => callApi('GET', '/v1/installation/waiting', { signal }),
  refetchInterval: often,
})

export const weightsQuery = queryOptions({
  queryKey: ['installation', 'weights'],
  queryFn: ({ signal }) => callApi('GET', '/v1/installation/weights', { signal }),
  refetchInterval: often,
})

export const healthQuery = queryOptions({
  queryKey: ['installation', 'health'],
  queryFn: ({ signal }) => callApi('GET', '/v1/installation/health', { signal }),
  refetchInterval: seldom,
})

export const findingsQuery = queryOptions({
  queryKey: ['installation', 'findings'],
  queryFn: ({ signal }) => callApi('GET', '/v1/installation/findings', { signal }),
  refetchInterval: seldom,
})

/** Organizations per page */
export const pageSize = 50

/** One page (from 1) of the organizations, by name. */
export const organizationsPageQuery = (page: number) =>
  queryOptions({
    queryKey: ['installation', 'organizations', page],
    queryFn: ({ signal }) =>
      callApi('GET', '/v1/installation/organizations', {
        query: { limit: pageSize, offset: (page - 1) * pageSize },
        signal,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: often,
  })

/** One organization. Its audit log has each read, so nothing reads it again by itself. */
export const organizationDetailQuery = (id: number) =>
  queryOptions({
    queryKey: ['installation', 'organization', id],
    queryFn: ({ signal }) =>
      callApi('GET', '/v1/installation/organizations/{organization_id}', {
        path: { organization_id: id },
        signal,
      }),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })
