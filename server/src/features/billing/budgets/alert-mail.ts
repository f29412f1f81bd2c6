import type { Services } from '../../../services.ts'
import { formatMail, quoteName } from '../../mail/format-mail.ts'
import type { MailText } from '../../mail/format-mail.ts'
import { findMembership } from '../../organizations/memberships.ts'
import { toReadableAmount } from './standing.ts'
import { findAlert, findModelName, listScopeNames } from './store.ts'

type Alert = NonNullable<Awaited<ReturnType<typeof findAlert>>>

/** Writes the email about a budget that has reached a percentage of its limit; null for a deleted budget. */
export async function composeBudgetMail(
  { db, config }: Pick<Services, 'db' | 'config'>,
  alertId: number,
): Promise<MailText | null> {
  const alert = await findAlert(db, alertId)
  if (alert === undefined) return null
  const { currency } = config.billing
  const [spent, limit] = [alert.spent, alert.monthly_limit].map((amount) =>
    toReadableAmount(amount, currency),
  )
  const end = alert.period_end.toLocaleDateString('en-US', { dateStyle: 'long', timeZone: 'UTC' })
  return formatMail({
    subject: `${alert.percent}% of a Berth budget is spent`,
    paragraphs: [
      'Hi,',
      `${spent} of ${limit} are spent of the budget of ${await nameScope({ db }, alert)}. The billing period ends on ${end} UTC.`,
      describeConsequence(alert),
    ],
    action: { label: 'See your usage', url: new URL('/usage', config.publicUrl).href },
    notes: [
      'You get this email because you are an admin of the organization, or because the budget is yours or that of your team.',
    ],
  })
}

async function nameScope(
  { db }: Pick<Services, 'db'>,
  {
    budget_id: budgetId,
    organization_id: organizationId,
    team_id: teamId,
    user_id: userId,
    deployment_id: deploymentId,
  }: Alert,
): Promise<string> {
  if (teamId !== null)
    return `the team ${quoteName((await listScopeNames(db, [budgetId])).get(budgetId) ?? '')}`
  if (userId !== null) {
    const member = await findMembership(db, organizationId, { userId })
    return member === undefined ? 'a former member' : `the member ${quoteName(member.name)}`
  }
  if (deploymentId === null) return 'your organization'
  const model = await findModelName(db, organizationId, deploymentId)
  return `the deployment ${deploymentId} of ${quoteName(model ?? '')}`
}

function describeConsequence({ percent, at_limit: atLimit }: Alert): string {
  if (atLimit === 'notify') {
    return 'The limit stops nothing: deployments go on, and usage is billed as before.'
  }
  return percent < 100
    ? 'When the limit is reached, nothing more can be deployed until an admin raises it or the period ends. Running deployments go on.'
    : 'Nothing more can be deployed until an admin raises the limit or the period ends. Running deployments go on.'
}
