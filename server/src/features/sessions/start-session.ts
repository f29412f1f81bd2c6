import { randomBytes } from 'node:crypto'
import { hashToken } from '../../base/hash-token.ts'
import type { Actor } from '../../base/viewer.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { identifyActor } from '../accounts/identify-actor.ts'
import { rememberNetwork } from '../accounts/known-networks.ts'
import { recordActivity } from '../accounts/record-activity.ts'
import { assertEnabled } from '../accounts/set-disabled.ts'
import { recordAction } from '../audit/record-action.ts'
import { lifetime } from './lifetime.ts'
import { deleteSession, insertSession } from './store.ts'

export interface StartedSession {
  id: number
  /** 256 random bits for the cookie; only its SHA-256 is stored */
  token: string
  expiresAt: Date
}

/**
 * Ends session `replaces`, if it is the user's, for a new token at each sign-in. Locks the account. Throws
 * `account_disabled`.
 */
export async function startSession(
  { clock }: Pick<Services, 'clock'>,
  transaction: DatabaseTransaction,
  visitor: Actor,
  session: {
    userId: number
    authMethod: string
    replaces: string | null
    /** The method of the second factor that the user presented, for the audit log */
    secondFactor?: string | undefined
    /** The latest end of the session; 30 days from now by default */
    endsAt?: Date | null | undefined
  },
): Promise<StartedSession> {
  const token = randomBytes(32).toString('base64url')
  const createdAt = clock()
  const { userId, authMethod, replaces, secondFactor, endsAt = null } = session
  const expiresAt = new Date(Math.min(createdAt.getTime() + lifetime, endsAt?.getTime() ?? Infinity))
  if (replaces !== null) await deleteSession(transaction, userId, hashToken(replaces))
  const id = await insertSession(transaction, {
    tokenHash: hashToken(token),
    userId,
    authMethod,
    address: visitor.address,
    userAgent: visitor.userAgent,
    createdAt,
    expiresAt,
    endsAt,
    scriptName: null,
  })
  await rememberNetwork(transaction, userId, visitor.address, createdAt)
  await assertEnabled(transaction, userId)
  await recordActivity(transaction, userId, createdAt)
  const actor = await identifyActor(transaction, visitor, userId)
  await recordAction(transaction, actor, 'session.started', {
    target: { type: 'session', id },
    details: {
      auth_method: authMethod,
      ...(secondFactor === undefined ? {} : { second_factor: secondFactor }),
    },
  })
  return { id, token, expiresAt }
}
