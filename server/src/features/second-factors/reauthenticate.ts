import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { countAttempt, refundAttempts, refundUnjudged } from '../accounts/rate-limits.ts'
import type { CountedAttempt } from '../accounts/rate-limits.ts'
import { verifyOwnPassword } from '../accounts/verify-own-password.ts'
import type { AuditAction } from '../audit/actions.ts'
import { recordAction } from '../audit/record-action.ts'
import { checkCode, checkPasskey } from './check-factor.ts'
import { consumeFactor, consumePasskey } from './consume-factor.ts'
import { isInvalidFactor, noPasskey } from './errors.ts'
import {
  challengeMilliseconds,
  deleteSessionChallenges,
  insertChallenge,
  listPasskeys,
} from './passkey-store.ts'
import { createRequestOptions } from './webauthn.ts'

/** What a signed-in person confirms an action with: their password, or a second factor. */
export type Reauthentication =
  | { password: string }
  | { code: string }
  | { passkey: AuthenticationResponseJSON }

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>

/** Three of a million codes are right. A stolen session gets as many attempts a day as a sign-in. */
const limits = [
  {
    name: 'own-code',
    attempts: 10,
    windowMilliseconds: 15 * 60_000,
    message: 'Too many wrong codes. Try again later.',
  },
  {
    name: 'own-code-day',
    attempts: 20,
    windowMilliseconds: 24 * 3_600_000,
    message: 'Too many wrong codes today. Use your password, or try again tomorrow.',
  },
]

/**
 * Returns a function that consumes the code; a passkey's challenge is consumed at once. Throws
 * `invalid_credentials`, `invalid_code`, `invalid_passkey`, `no_password`.
 */
export async function reauthenticate(
  deps: Deps,
  viewer: Viewer,
  proof: Reauthentication,
  action: AuditAction,
): Promise<(transaction: DatabaseTransaction) => Promise<void>> {
  if ('password' in proof) {
    await verifyOwnPassword(deps, viewer, proof.password, action)
    return async () => undefined
  }
  if ('passkey' in proof) {
    await auditRefusal(deps, viewer, action, () => provePasskey(deps, viewer, proof.passkey))
    return async () => undefined
  }
  const { userId } = viewer
  const factor = await countOwnCode(deps, viewer, action, () => checkCode(deps, userId, proof.code))
  return (transaction) => consumeFactor(transaction, userId, factor, deps.clock())
}

/** The browser's options to sign with a passkey in place of the password. Throws `no_second_factor`. */
export async function challengeOwnPasskey(
  { db, clock, config }: Pick<Services, 'db' | 'clock' | 'config'>,
  { userId, session }: Viewer,
) {
  const passkeys = await listPasskeys(db, userId)
  if (passkeys.length === 0) throw noPasskey()
  const options = await createRequestOptions(config, passkeys)
  const expiresAt = new Date(clock().getTime() + challengeMilliseconds)
  await deleteSessionChallenges(db, session.id)
  await insertChallenge(db, {
    text: options.challenge,
    userId,
    purpose: 'reauthentication',
    sessionId: session.id,
    expiresAt,
  })
  return options
}

async function provePasskey(
  deps: Deps,
  { userId, session }: Viewer,
  response: AuthenticationResponseJSON,
): Promise<void> {
  const { db, clock } = deps
  const factor = await checkPasskey(deps, userId, response)
  const purpose = { purpose: 'reauthentication', sessionId: session.id } as const
  await db
    .transaction()
    .execute((transaction) => consumePasskey(transaction, userId, factor, clock(), purpose))
}

/** Limits the viewer's wrong codes. If `check` throws, the refused `action` is recorded. */
export async function countOwnCode<Result>(
  deps: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  action: AuditAction,
  check: () => Promise<Result>,
): Promise<Result> {
  const { db, clock } = deps
  const attempts: CountedAttempt[] = []
  return auditRefusal(deps, viewer, action, async () => {
    const result = await refundUnjudged(db, attempts, async () => {
      for (const { name, ...limit } of limits) {
        attempts.push(await countAttempt(db, `${name}:${viewer.userId}`, limit, clock()))
      }
      return check()
    })
    await refundAttempts(db, attempts)
    return result
  })
}

/** Records the `action` as refused if `check` throws that the factor is wrong. */
async function auditRefusal<Result>(
  { db }: Pick<Services, 'db'>,
  viewer: Viewer,
  action: AuditAction,
  check: () => Promise<Result>,
): Promise<Result> {
  try {
    return await check()
  } catch (error) {
    if (isInvalidFactor(error)) {
      await recordAction(db, viewer, action, { result: 'refused', details: { code: error.code } })
    }
    throw error
  }
}
