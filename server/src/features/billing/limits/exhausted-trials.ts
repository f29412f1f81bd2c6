import { Exact } from '../../../base/decimal.ts'
import type { Database } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import { formatMail } from '../../mail/format-mail.ts'
import type { MailText } from '../../mail/format-mail.ts'
import { queueMail } from '../../mail/queue-mail.ts'
import { sumAmount } from '../../metering/summary.ts'
import { listAdminEmails } from '../../organizations/memberships.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'prices'>

/** Emails admins once when a trial's credit is used up. Returns the organizations past their grace period. */
export async function listEndedTrials(deps: Deps): Promise<number[]> {
  const { db, clock, config } = deps
  const ended: number[] = []
  if (!config.billing.isOn) return ended
  for (const trial of await listActiveTrials(db)) {
    const { organization_id: organizationId, trial_exhausted_at: since } = trial
    const used = await sumAmount(deps, organizationId, { withoutEndpoints: true })
    if (new Exact(used).lt(config.billing.trialCredit)) {
      if (since !== null) await setTrialExhausted(db, organizationId, null)
    } else if (since === null) {
      await announce(deps, organizationId)
    } else if (clock().getTime() - since.getTime() >= config.billing.trialGraceMilliseconds) {
      ended.push(organizationId)
    }
  }
  return ended
}

/** The organizations in their trial that have active deployments. */
function listActiveTrials(
  db: Database,
): Promise<{ organization_id: number; trial_exhausted_at: Date | null }[]> {
  return db
    .selectFrom('billing_accounts')
    .select(['billing_accounts.organization_id', 'trial_exhausted_at'])
    .where('billing_mode', '=', 'trial')
    .where((where) =>
      where.exists(
        where
          .selectFrom('deployments')
          .select('deployments.id')
          .whereRef('deployments.organization_id', '=', 'billing_accounts.organization_id')
          .where('deployments.status', 'not in', ['failed', 'terminating', 'terminated']),
      ),
    )
    .orderBy('billing_accounts.id')
    .execute()
}

/** Records when a trial's credit was used up, or null to forget it; false if another process did so first. */
async function setTrialExhausted(db: Database, organizationId: number, at: Date | null): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('billing_accounts')
    .set({ trial_exhausted_at: at })
    .where('organization_id', '=', organizationId)
    .where('trial_exhausted_at', at === null ? 'is not' : 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

async function announce(deps: Deps, organizationId: number): Promise<void> {
  await deps.db.transaction().execute(async (transaction) => {
    if (!(await setTrialExhausted(transaction, organizationId, deps.clock()))) return
    for (const recipient of await listAdminEmails(transaction, organizationId)) {
      await queueMail(deps, transaction, { kind: 'trial_exhausted', subjectId: organizationId, recipient })
    }
  })
  deps.log.info({ organization: organizationId }, 'the credit of a trial is used up')
}

/** Writes the email about a used-up trial credit; null when billing has been activated. */
export async function composeTrialExhaustedMail(
  { db, config }: Pick<Services, 'db' | 'config'>,
  organizationId: number,
): Promise<MailText | null> {
  const account = await db
    .selectFrom('billing_accounts')
    .select(['billing_mode', 'trial_exhausted_at'])
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  if (account?.billing_mode !== 'trial' || account.trial_exhausted_at === null) return null
  const end = new Date(account.trial_exhausted_at.getTime() + config.billing.trialGraceMilliseconds)
  const when = end.toLocaleString('en-US', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  return formatMail({
    subject: 'Your Berth trial credit is used up',
    paragraphs: [
      'Hi,',
      `Your organization has used up the credit of its trial. Its deployments end on ${when} UTC. To keep them, activate billing before then:`,
    ],
    action: { label: 'Activate billing', url: new URL('/billing', config.publicUrl).href },
    notes: ['You get this email because you are an admin of the organization.'],
  })
}
