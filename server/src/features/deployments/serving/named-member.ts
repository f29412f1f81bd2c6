import { createNotifiedCache } from '../../../database/notified-cache.ts'
import type { NotifiedCache } from '../../../database/notified-cache.ts'
import type { Notifications } from '../../../database/notifications.ts'
import type { Person } from '../../../base/viewer.ts'
import type { Services } from '../../../services.ts'
import { findNamedMember } from '../../sessions/named-members.ts'
import type { MemberKey } from '../../sessions/named-members.ts'

export type { MemberKey } from '../../sessions/named-members.ts'

/** The persons whom programs name, by organization and name. `member` is null for somebody from outside. */
export type MemberCache = NotifiedCache<{ member: Person | null }>

/** Entries live for at most a minute, in case a row changes without a notification. */
export function createMemberCache(notifications: Notifications): MemberCache {
  return createNotifiedCache(notifications, 'session_revoked', { limit: 20_000, milliseconds: 60_000 })
}

/** The member of the organization that a program names; null for somebody from outside. */
export function resolveMember(
  { db, members }: Pick<Services, 'db'> & { members: MemberCache },
  organizationId: number,
  key: MemberKey,
): Person | null | Promise<Person | null> {
  const cacheKey = `${organizationId} ${'email' in key ? `email ${key.email}` : `id ${key.userId}`}`
  const cached = members.get(cacheKey)
  if (cached !== undefined) return cached.member
  return members
    .load(cacheKey, async () => {
      const member = await findNamedMember(db, organizationId, key)
      // Anybody who joins may be the one.
      return { value: { member }, userId: member?.userId ?? null }
    })
    .then((found) => found!.member)
}
