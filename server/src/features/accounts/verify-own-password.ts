import { ApplicationError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { AuditAction } from '../audit/actions.ts'
import { recordAction } from '../audit/record-action.ts'
import { verifyPassword } from './passwords.ts'
import { countAttempt, refundAttempts } from './rate-limits.ts'

const limit = {
  attempts: 10,
  windowMilliseconds: 15 * 60_000,
  message: 'Too many wrong passwords. Try again later.',
}

/**
 * Checks a viewer's password, with a limit for each session; returns its hash. Throws `invalid_credentials`
 * (audited) or `no_password`.
 */
export async function verifyOwnPassword(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  password: string,
  action: AuditAction,
): Promise<string> {
  const user = await db
    .selectFrom('users')
    .select('password_hash')
    .where('id', '=', viewer.userId)
    .executeTakeFirst()
  const passwordHash = user?.password_hash ?? null
  if (passwordHash === null) {
    const message = 'This account has no password. Set one with a password reset link.'
    throw new ApplicationError('no_password', message)
  }
  const attempt = await countAttempt(db, `own-password:${viewer.userId}:${viewer.session.id}`, limit, clock())
  if (!(await verifyPassword(password, passwordHash))) {
    await recordAction(db, viewer, action, { result: 'refused', details: { code: 'invalid_credentials' } })
    throw new ApplicationError('invalid_credentials', 'The password is wrong.')
  }
  await refundAttempts(db, [attempt])
  return passwordHash
}
