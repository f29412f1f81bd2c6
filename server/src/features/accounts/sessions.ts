import { randomBytes } from 'node:crypto'
import type { Services } from '../../services.ts'
import type { Actor, Viewer } from '../../viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import type { ShownFactor } from './factors/check-factor.ts'
import { passFactor } from './factors/pass-factor.ts'
import { identifyActor } from './identify-actor.ts'
import { rememberNetwork } from './known-networks.ts'
import { hashToken } from './link-token.ts'
import { touchSession } from './session-store.ts'
import { assertEnabled } from './set-disabled.ts'
import { invalidCredentials } from './sign-in.ts'
import {
  deleteSession,
  findSession,
  insertSession,
  lacksRequiredFactor,
  lockUserWithPassword,
  renewSession,
} from './store.ts'

const hour = 3_600_000
const day = 24 * hour
const lifetime = 7 * day
const maxLifetime = 30 * day
/** Every request would be a write otherwise. */
const seenInterval = 10 * 60_000

export interface StartedSession {
  /** 256 random bits for the cookie; only its SHA-256 is stored */
  token: string
  expiresAt: Date
}

/** The viewer of a session token. */
export interface FoundViewer {
  viewer: Viewer
  /** Whether the session was just renewed and its cookie must be sent again */
  renewed: boolean
  /** When the session expires or is due for renewal, in milliseconds since 1970 */
  freshUntil: number
}

/**
 * Starts a session for a user and ends the session with the token `replaces`, so that each sign-in gets a new token. If
 * `passwordHash` is given and no longer the user's, throws `invalid_credentials`: the password was reset after it was checked. A session
 * by password of a user with a second factor needs `secondFactor`.
 */
export async function startSession(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs'>,
  visitor: Actor,
  session: {
    userId: number
    authMethod: string
    replaces: string | null
    passwordHash?: string | undefined
    secondFactor?: ShownFactor | null | undefined
    /** The latest end of the session; 30 days from now by default */
    endsAt?: Date | null | undefined
  },
): Promise<StartedSession> {
  const { db, clock } = deps
  const token = randomBytes(32).toString('base64url')
  const createdAt = clock()
  const { userId, authMethod, replaces, passwordHash, secondFactor = null, endsAt = null } = session
  const expiresAt = new Date(Math.min(createdAt.getTime() + lifetime, endsAt?.getTime() ?? Infinity))
  await db.transaction().execute(async (transaction) => {
    if (passwordHash !== undefined && !(await lockUserWithPassword(transaction, userId, passwordHash))) {
      throw invalidCredentials()
    }
    if (replaces !== null) await deleteSession(transaction, hashToken(replaces))
    const id = await insertSession(transaction, {
      tokenHash: hashToken(token),
      userId,
      authMethod,
      address: visitor.address,
      userAgent: visitor.userAgent,
      createdAt,
      expiresAt,
      endsAt,
    })
    await rememberNetwork(transaction, userId, visitor.address, createdAt)
    await assertEnabled(transaction, userId)
    const actor = await identifyActor(transaction, visitor, userId)
    if (authMethod === 'password') await passFactor(deps, transaction, actor, secondFactor)
    const target = { type: 'session', id } as const
    await recordAction(transaction, actor, 'session.started', {
      target,
      details: {
        auth_method: authMethod,
        ...(secondFactor === null ? {} : { second_factor: secondFactor.method }),
      },
    })
  })
  return { token, expiresAt }
}

/**
 * Finds the viewer of a session token, or null. Each use extends the session to 7 days from now, at most hourly and up to 30
 * days in total, or up to the identity provider's limit. `origin` is noted as the place of the latest use.
 */
export async function findViewer(
  { db, clock, config }: Pick<Services, 'db' | 'clock' | 'config'>,
  token: string,
  origin?: Pick<Actor, 'address' | 'userAgent'>,
): Promise<FoundViewer | null> {
  const now = clock()
  const row = await findSession(db, hashToken(token), now)
  if (row === undefined) return null
  if (config.sso?.only === true && row.auth_method === 'password') return null
  const end = row.ends_at?.getTime() ?? row.created_at.getTime() + maxLifetime
  const expiresAt = new Date(Math.min(now.getTime() + lifetime, end))
  const lastSeen = row.last_seen_at ?? row.created_at
  if (origin !== undefined && now.getTime() - lastSeen.getTime() >= seenInterval) {
    await touchSession(db, row.id, origin, now)
  }
  const renewed =
    now.getTime() - row.renewed_at.getTime() >= hour &&
    expiresAt > row.expires_at &&
    (await renewSession(db, row.id, row.renewed_at, now, expiresAt))
  const viewer: Viewer = {
    userId: row.user_id,
    email: row.email,
    name: row.name,
    organizationId: row.organization_id,
    organizationName: row.organization_name,
    organizationStatus: row.organization_status,
    role: row.role,
    requiresProfileCompletion: row.profile_incomplete,
    address: null,
    userAgent: null,
    requiresEmailVerification: config.mail.url !== null && row.email_verified_at === null,
    hasSecondFactor: !row.lacks_second_factor,
    requiresSecondFactorSetup: lacksRequiredFactor(row),
    session: { id: row.id, expiresAt: renewed ? expiresAt : row.expires_at, authMethod: row.auth_method },
  }
  const renewedAt = renewed ? now : row.renewed_at
  const renewable = end > viewer.session.expiresAt.getTime()
  const nextRenewal = renewable ? renewedAt.getTime() + hour : Infinity
  return { viewer, renewed, freshUntil: Math.min(viewer.session.expiresAt.getTime(), nextRenewal) }
}

/** Ends the viewer's session. */
export async function signOut({ db }: Pick<Services, 'db'>, viewer: Viewer, token: string): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await deleteSession(transaction, hashToken(token))
    await recordAction(transaction, viewer, 'session.ended', {
      target: { type: 'session', id: viewer.session.id },
    })
  })
}
