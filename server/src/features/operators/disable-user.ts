import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { deleteSessions } from '../sessions/delete-sessions.ts'
import { revokeOperator } from '../accounts/operator-grant.ts'
import { setDisabled } from '../accounts/set-disabled.ts'
import { recordAction } from '../audit/record-action.ts'
import { cancelInvitationsOf } from '../invitations/cancel-invitations-of.ts'
import { userNotFound } from './find.ts'

/** Disables an account and ends its sessions, invitations and rights of an operator, or enables it again. */
export async function disableUser(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  operator: Actor,
  id: number,
  disabled: boolean,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    if (disabled) await revokeOperator(transaction, operator, id)
    const user = await setDisabled(transaction, id, disabled ? clock() : null)
    if (user === undefined) throw userNotFound()
    if (disabled) {
      await deleteSessions(transaction, id)
      await cancelInvitationsOf(transaction, operator, id, clock())
    }
    await recordAction(transaction, operator, disabled ? 'user.disabled' : 'user.enabled', {
      organizationId: user.organizationId,
      target: { type: 'user', id, name: user.email },
      details: { operator: operator.email },
    })
  })
}
