import { hashKey } from '@tanstack/react-query'
import type { QueryClient } from '@tanstack/react-query'
import { organizationQuery, sessionQuery } from '../../api/session.ts'

const watched = new WeakSet<QueryClient>()
let owner: Owner | null = null

/** The owner of the data in memory. */
interface Owner {
  userId: number
  organizationId: number
}

/** Calls `clear` for a sign-out or another owner. An expired session keeps data for the same owner. */
export function clearOnOwnerChange(queryClient: QueryClient, current: Owner, clear: () => void) {
  if (owner && (owner.userId !== current.userId || owner.organizationId !== current.organizationId)) clear()
  owner = current
  if (watched.has(queryClient)) return
  watched.add(queryClient)
  const isSameOwner = () => queryClient.getQueryData(sessionQuery.queryKey)?.user.id === owner?.userId
  const end = () => {
    owner = null
    clear()
  }
  const organizationHash = hashKey(organizationQuery.queryKey)
  queryClient.getQueryCache().subscribe(({ type, query }) => {
    // Compare the whole key, because the keys of members and invitations start with the organization's key.
    if (!owner || query.queryHash !== organizationHash) return
    if (type === 'removed') {
      // Signing in and signing out both drop the query. Afterwards only a sign-in has set a session.
      queueMicrotask(() => owner && !isSameOwner() && end())
      return
    }
    const shown = query.state.data as { id: number } | undefined
    if (shown && shown.id !== owner.organizationId) end()
  })
}
