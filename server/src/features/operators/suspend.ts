import type { DatabaseTransaction } from '../../database/tables.ts'
import { ApplicationError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import { serverActor } from '../../base/viewer.ts'
import type { Actor } from '../../base/viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { terminateDeployments } from '../deployments/changes/member-deployments.ts'
import { formatMail } from '../mail/format-mail.ts'
import type { MailText } from '../mail/format-mail.ts'
import { queueMail } from '../mail/queue-mail.ts'
import { listAdminEmails } from '../organizations/memberships.ts'
import { findOrganizationStatus, isSuspendedSince, setOrganizationStatus } from '../organizations/status.ts'
import { organizationNotFound } from './find.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs'>

/** Makes an organization read-only, emails its admins; ends deployments in `graceMinutes` unless resumed. */
export async function suspendOrganization(
  deps: Deps,
  operator: Actor,
  id: number,
  { reason, graceMinutes }: { reason: string; graceMinutes: number },
): Promise<void> {
  await deps.db.transaction().execute(async (transaction) => {
    const at = deps.clock()
    await changeStatus(transaction, id, 'active', 'suspended', at)
    for (const recipient of await listAdminEmails(transaction, id)) {
      await queueMail(deps, transaction, { kind: 'organization_suspended', subjectId: id, recipient })
    }
    const delay = { afterSeconds: graceMinutes * 60 }
    const suspension = { organizationId: id, suspendedAt: at.toISOString() }
    await deps.jobs.enqueue(transaction, 'end-suspended-deployments', suspension, delay)
    const target = { type: 'organization', id } as const
    const details = { reason, operator: operator.email }
    await recordAction(transaction, operator, 'organization.suspended', {
      organizationId: id,
      target,
      details,
    })
  })
}

/** Lets the members of a suspended organization work again. Deployments that ended stay ended. */
export async function resumeOrganization(deps: Deps, operator: Actor, id: number): Promise<void> {
  await deps.db.transaction().execute(async (transaction) => {
    await changeStatus(transaction, id, 'suspended', 'active', deps.clock())
    const target = { type: 'organization', id } as const
    const details = { operator: operator.email }
    await recordAction(transaction, operator, 'organization.resumed', { organizationId: id, target, details })
  })
}

async function changeStatus(
  transaction: DatabaseTransaction,
  id: number,
  from: 'active' | 'suspended',
  to: 'active' | 'suspended',
  at: Date,
): Promise<void> {
  if (await setOrganizationStatus(transaction, id, { from, to, at })) return
  const status = await findOrganizationStatus(transaction, id)
  if (status === undefined) throw organizationNotFound()
  throw new ApplicationError('organization_status_conflict', `The organization is ${status}.`)
}

/** Ends the deployments of an organization if the suspension of that moment still lasts. */
export async function endSuspendedDeployments(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  organizationId: number,
  suspendedAt: Date,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    if (!(await isSuspendedSince(transaction, organizationId, suspendedAt))) return
    const reason = 'Terminated because the organization is suspended.'
    await terminateDeployments(transaction, serverActor, { organizationId }, { reason, at: clock() })
  })
}

/** Writes the email to the admins of a suspended organization; null when it was resumed. */
export async function composeSuspendedMail(
  { db }: Pick<Services, 'db'>,
  organizationId: number,
): Promise<MailText | null> {
  if ((await findOrganizationStatus(db, organizationId)) !== 'suspended') return null
  return formatMail({
    subject: 'Your Berth organization was suspended',
    paragraphs: [
      'Hi,',
      'An operator of this Berth server suspended your organization. Its members can still sign in and read, but not change anything or use models. Its deployments will be terminated soon.',
    ],
    notes: ['Contact the operator of the server to have the organization resumed.'],
  })
}
