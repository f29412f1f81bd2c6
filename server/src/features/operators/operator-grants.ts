import { NotFoundError } from '../../base/errors.ts'
import type { Actor } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { lockAccountByEmail } from '../accounts/lock-account.ts'
import { grantOperator, revokeOperator } from '../accounts/operator-grant.ts'
import { assertEnabled } from '../accounts/set-disabled.ts'

/** Lets the person with this email see the whole installation; false if they may already. */
export function grantOperatorTo(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  operator: Actor,
  email: string,
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const user = await lockAccountByEmail(transaction, email)
    if (user === undefined || user.allowed_networks !== null) throw personNotFound()
    await assertEnabled(transaction, user.id)
    const { id, current_organization_id: organizationId } = user
    return grantOperator(transaction, operator, { id, email: user.email, organizationId }, clock())
  })
}

/** Ends the grant of the person with this email; false without one. */
export function revokeOperatorFrom(
  { db }: Pick<Services, 'db'>,
  operator: Actor,
  email: string,
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const user = await lockAccountByEmail(transaction, email)
    if (user === undefined) throw personNotFound()
    return revokeOperator(transaction, operator, user.id)
  })
}

function personNotFound(): NotFoundError {
  return new NotFoundError('No person has this email. `npm run admin -- user find <text>` lists people.')
}
