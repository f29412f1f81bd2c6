import { parseNetworks } from '../../base/network.ts'
import { findStanding } from '../../base/standing.ts'
import type { Actor, Viewer } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { recordActivity } from '../accounts/record-activity.ts'
import { findLiveSession } from './find-live-session.ts'
import { lifetime } from './lifetime.ts'
import { renewSession, toPerson } from './store.ts'

const hour = 3_600_000
/** Every request would be a write otherwise. */
const seenInterval = 10 * 60_000

/** The viewer of a session token. */
export interface FoundViewer {
  viewer: Viewer
  /** Whether the session was just renewed and its cookie must be sent again */
  renewed: boolean
  /** When the session expires or is due for renewal, in milliseconds since 1970 */
  freshUntil: number
}

/**
 * Finds a token's viewer, or null. Each use extends the session to 7 days from now, at most hourly, up to 30
 * days in total or the provider's limit, and records `origin`.
 */
export async function findViewer(
  { db, clock, config }: Pick<Services, 'db' | 'clock' | 'config'>,
  token: string,
  origin?: Pick<Actor, 'address' | 'userAgent'>,
): Promise<FoundViewer | null> {
  const now = clock()
  const row = await findLiveSession({ db, config }, token, now)
  if (row === undefined) return null
  const person = toPerson(row)
  const current = findStanding(person, person.organizationId)
  if (current === undefined) return null
  const end = row.end.getTime()
  const expiresAt = new Date(Math.min(now.getTime() + lifetime, end))
  const isFirstUse = row.address === null && origin?.address !== null
  if (origin !== undefined && (isFirstUse || now.getTime() - row.last_seen_at.getTime() >= seenInterval)) {
    await db
      .updateTable('sessions')
      .set({ last_seen_at: now, address: origin.address, user_agent: origin.userAgent })
      .where('id', '=', row.id)
      .execute()
    await recordActivity(db, row.user_id, now)
  }
  const renewed =
    now.getTime() - row.renewed_at.getTime() >= hour &&
    expiresAt > row.expires_at &&
    (await renewSession(db, row.id, row.renewed_at, now, expiresAt))
  const { allowed_networks: networks } = row
  const viewer: Viewer = {
    ...person,
    ...current,
    email: row.email,
    name: row.name,
    requiresProfileCompletion: row.profile_incomplete,
    address: null,
    userAgent: null,
    requiresEmailVerification:
      config.requiresEmailVerification && row.email_verified_at === null && networks === null,
    hasSecondFactor: networks === null && !row.lacks_second_factor,
    isOperator: row.operator_since !== null,
    allowedNetworks: networks === null ? null : parseNetworks(networks),
    memberNaming: row.may_name_members ? { header: row.member_header } : null,
    session: { id: row.id, expiresAt: renewed ? expiresAt : row.expires_at, authMethod: row.auth_method },
  }
  const renewedAt = renewed ? now : row.renewed_at
  const renewable = end > viewer.session.expiresAt.getTime()
  const nextRenewal = renewable ? renewedAt.getTime() + hour : Infinity
  return { viewer, renewed, freshUntil: Math.min(viewer.session.expiresAt.getTime(), nextRenewal) }
}
