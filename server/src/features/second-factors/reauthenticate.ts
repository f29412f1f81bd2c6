import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { countAttempt, refundAttempts, refundUnjudged } from '../accounts/rate-limits.ts'
import type { CountedAttempt } from '../accounts/rate-limits.ts'
import { verifyOwnPassword } from '../accounts/verify-own-password.ts'
import type { AuditAction } from '../audit/actions.ts'
import { recordAction } from '../audit/record-action.ts'
import { checkCode } from './check-factor.ts'
import { consumeFactor } from './consume-factor.ts'
import { isInvalidFactor } from './errors.ts'

/** What a signed-in person sends to change how they sign in: their password, or a code of a second factor. */
export type Reauthentication = { password: string } | { code: string }

type Deps = Pick<Services, 'db' | 'clock' | 'secretKey'>

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

/** Returns a function that consumes the code. Throws `invalid_credentials`, `invalid_code`, `no_password`. */
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
  const { userId } = viewer
  const factor = await countOwnCode(deps, viewer, action, () => checkCode(deps, userId, proof.code))
  return (transaction) => consumeFactor(transaction, userId, factor, deps.clock())
}

/** Limits the viewer's wrong codes. If `check` throws, the refused `action` is recorded. */
export async function countOwnCode<Result>(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  action: AuditAction,
  check: () => Promise<Result>,
): Promise<Result> {
  const attempts: CountedAttempt[] = []
  try {
    const result = await refundUnjudged(db, attempts, async () => {
      for (const { name, ...limit } of limits) {
        attempts.push(await countAttempt(db, `${name}:${viewer.userId}`, limit, clock()))
      }
      return check()
    })
    await refundAttempts(db, attempts)
    return result
  } catch (error) {
    if (isInvalidFactor(error)) {
      await recordAction(db, viewer, action, { result: 'refused', details: { code: 'invalid_code' } })
    }
    throw error
  }
}
