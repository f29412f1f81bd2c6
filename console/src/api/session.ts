import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import type { QueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Permission, Session } from '../contract.ts'
import { ApiError, callApi } from './client.ts'

/** The session; null for a visitor. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }): Promise<Session | null> => {
    try {
      return await callApi('GET', '/v1/auth/session', { signal })
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null
      throw error
    }
  },
  staleTime: 60_000,
})

/** The current organization, with the person's role and permissions. */
export const organizationQuery = queryOptions({
  queryKey: ['organization'],
  queryFn: ({ signal }) => callApi('GET', '/v1/organization', { signal }),
  staleTime: 60_000,
})

/** Stores a new session and drops cached data, which may belong to another account. */
export function startSession(queryClient: QueryClient, session: Session) {
  queryClient.removeQueries({ type: 'inactive' })
  queryClient.setQueryData(sessionQuery.queryKey, session)
}

/** The session of a page that requires one; the router redirects visitors to the sign-in page. */
export function useSession(): Session {
  const { data } = useSuspenseQuery(sessionQuery)
  const [last, setLast] = useState(data)
  if (data && data !== last) setLast(data)
  // When the session ends, the page keeps rendering with the last session until the sign-in page has loaded.
  const session = data ?? last
  if (!session) throw new ApiError({ status: 401, code: 'not_authenticated', detail: 'Sign in first.' })
  return session
}

/** Returns a function that tells whether the role grants a permission in the current organization. */
export function useCan(): (permission: Permission) => boolean {
  const { data } = useSuspenseQuery(organizationQuery)
  return (permission) => data.permissions.includes(permission)
}
