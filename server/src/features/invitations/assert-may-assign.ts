import type { DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError } from '../../base/errors.ts'
import { managedRoles } from '../../base/roles.ts'
import type { InvitationRole } from '../../base/roles.ts'
import type { Viewer } from '../../base/viewer.ts'
import { holdRole } from '../organizations/memberships.ts'

/** Throws `forbidden` unless the viewer may assign this role; locks the viewer's role in the transaction. */
export async function assertMayAssign(
  transaction: DatabaseTransaction,
  viewer: Viewer,
  role: InvitationRole,
): Promise<void> {
  if (managedRoles(await holdRole(transaction, viewer)).includes(role)) return
  throw new ApplicationError('forbidden', 'Only an owner can invite admins.')
}
