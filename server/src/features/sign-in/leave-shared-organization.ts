import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { switchOrganization } from '../accounts/switch-organization.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { createOrganization, nameOrganizationOf } from '../organizations/create-organization.ts'
import { addMember, isOrganizationShared } from '../organizations/memberships.ts'

/**
 * Gives a user a new organization if other people are in the current one or are invited to it. Call it when
 * an email is verified for the first time by someone who may not have registered it: whoever did may have
 * invited an accomplice. The user stays a member of the old organization, whose usage and billing continue.
 * An email explains the change.
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
