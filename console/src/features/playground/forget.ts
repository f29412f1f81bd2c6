import { hashKey, type QueryClient } from '@tanstack/react-query'
import { organizationQuery, sessionQuery } from '../../api/session.ts'

const watched = new WeakSet<QueryClient>()
let owner: Owner | null = null

/** Whom what is in memory belongs to. */
interface Owner {
  userId: number
  organizationId: number
}

/**
 * Calls `forget` once what is in memory belongs to somebody else: the person has signed out, works in another organization, or is
 * another person. A session that merely ran out keeps it for the one who signs in again.
 */
export function forgetForOthers(queryClient: QueryClient, current: Owner, forget: () => void) {
  if (owner && (owner.userId !== current.userId || owner.organizationId !== current.organizationId)) forget()
  owner = current
  if (watched.has(queryClient)) return
  watched.add(queryClient)
  const isKept = () => queryClient.getQueryData(sessionQuery.queryKey)?.user.id === owner?.userId
  const end = () => {
    owner = null
    forget()
  }
  const organizationHash = hashKey(organizationQuery.queryKey)
  queryClient.getQueryCache().subscribe(({ type, query }) => {
    // Its members and invitations have keys that begin as its own.
    if (!owner || query.queryHash !== organizationHash) return
    if (type === 'removed') {
      // Signing in drops what was read, as signing out does; only after it there is a session.
      queueMicrotask(() => owner && !isKept() && end())
      return
    }
    const shown = query.state.data as { id: number } | undefined
    if (shown && shown.id !== owner.organizationId) end()
  })
}
