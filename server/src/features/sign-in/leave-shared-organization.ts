import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { switchOrganization } from '../accounts/switch-organization.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { createOrganization, nameOrganizationOf } from '../organizations/create-organization.ts'
import { addMember, isOrganizationShared } from '../organizations/memberships.ts'

/**
 * Gives a user a new organization if theirs has other people or invitations, and emails an explanation. Call
 * it when an email is first verified: an attacker may have registered it and invited an accomplice. The user
 * stays a member of the old organization, where usage and billing continue.
 */
export async function leaveSharedOrganization(
  deps: Pick<Services, 'jobs' | 'clock' | 'config'>,
  transaction: DatabaseTransaction,
  user: { id: number; email: string; current_organization_id: number },
  at: Date,
): Promise<void> {
  if (!(await isOrganizationShared(transaction, user.current_organization_id))) return
  const name = nameOrganizationOf(user.email.slice(0, user.email.lastIndexOf('@')))
  const organizationId = await createOrganization(transaction, name)
  await addMember(transaction, { userId: user.id, organizationId, role: 'super_admin' })
  await switchOrganization(transaction, { userId: user.id, organizationId, at })
  await queueMail(deps, transaction, {
    kind: 'fresh_organization',
    subjectId: user.id,
    recipient: user.email,
  })
}
