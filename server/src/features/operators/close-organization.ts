import { ApplicationError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { closeAccount } from '../billing/processor/close-account.ts'
import { terminateDeployments } from '../deployments/changes/member-deployments.ts'
import { eraseRequests } from '../metering/request-log.ts'
import { cancelOpenInvitations } from '../invitations/cancel-open-invitations.ts'
import { closeOrganization } from '../organizations/close-organization.ts'
import { findOrganizationStatus } from '../organizations/status.ts'
import { endServiceMembers, lockServiceAccounts } from '../service-members/end-service-members.ts'
import { organizationNotFound } from './find.ts'

/** Closes an organization for good: its deployments and service members end, and its people can only read. */
export async function closeOrganizationForGood(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  operator: Actor,
  organizationId: number,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const at = clock()
    await lockServiceAccounts(transaction, organizationId)
    const status = await findOrganizationStatus(transaction, organizationId)
    if (status === undefined) throw organizationNotFound()
    if (status === 'closed')
      throw new ApplicationError('organization_status_conflict', 'The organization is closed.')
    const reason = 'Terminated because an operator closed the organization.'
    await terminateDeployments(transaction, operator, { organizationId }, { reason, at })
    await endServiceMembers(transaction, operator, organizationId, at)
    await cancelOpenInvitations(transaction, organizationId, at)
    await closeAccount(transaction, organizationId, at)
    await closeOrganization(transaction, operator, organizationId, at)
    await eraseRequests(transaction, { organizationId })
  })
}
