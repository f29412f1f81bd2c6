import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'

/** The members, in the order in which they joined. */
export const membersQuery = queryOptions({
  queryKey: ['organization', 'members'],
  queryFn: ({ signal }) => callApi('GET', '/v1/organization/members', { signal }),
})

/** As many people as a list shows. The search finds the others. */
export const peopleLimit = 100

/** The members by name, whose names or emails have `q`; with `services` also the programs. */
export const peopleQuery = (q: string | undefined, services: boolean) =>
  queryOptions({
    queryKey: [...membersQuery.queryKey, 'people', q, services],
    queryFn: ({ signal }) =>
      callApi('GET', '/v1/organization/people', {
        query: { q, limit: peopleLimit, ...(services ? {} : { kind: 'member' }) },
        signal,
      }),
    placeholderData: keepPreviousData,
  })
