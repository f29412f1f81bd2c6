import { QueryClient } from '@tanstack/react-query'
import { expect, it } from 'vitest'
import type { Organization, Session } from '../../contract.ts'
import { organizationQuery, sessionQuery } from '../../api/session.ts'
import { clearOnOwnerChange } from './clear-on-owner-change.ts'

it('clears after an organization switch, not when the same organization is updated or refetched', async () => {
  const queryClient = new QueryClient()
  let cleared = 0
  queryClient.setQueryData(sessionQuery.queryKey, { user: { id: 1 } } as Session)
  queryClient.setQueryData(organizationQuery.queryKey, { id: 7, name: 'Engines' } as Organization)
  clearOnOwnerChange(queryClient, { userId: 1, organizationId: 7 }, () => (cleared += 1))

  queryClient.setQueryData([...organizationQuery.queryKey, 'members'], [])
  queryClient.setQueryData(organizationQuery.queryKey, { id: 7, name: 'Analytical Engines' } as Organization)
  queryClient.removeQueries()
  queryClient.setQueryData(sessionQuery.queryKey, { user: { id: 1 } } as Session)
  await Promise.resolve()
  expect(cleared).toBe(0)

  queryClient.setQueryData(organizationQuery.queryKey, { id: 8, name: 'Abstractions' } as Organization)
  expect(cleared).toBe(1)
})
