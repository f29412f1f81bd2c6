import type { Services } from '../../../services.ts'
import { queueAlert } from '../../alerts/queue-alert.ts'
import { queueMail } from '../../mail/queue-mail.ts'
import { findMembership, listAdminEmails } from '../../organizations/memberships.ts'
import type { DatabaseTransaction } from '../../../database/tables.ts'
import { formatDecimal } from '../../../base/decimal.ts'
import type { AlertData } from '../../alerts/alert.ts'
import { listTeamEmails } from '../../teams/list-team-emails.ts'
import { isExhausted, listReachedPercents, readStandings, scopeIdOf } from './standing.ts'
import type { BudgetStanding } from './standing.ts'
import { insertAlert, listBudgets } from './store.ts'
import type { Budget } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'prices'>

/** What else happens when a budget is exhausted that puts deployments to sleep. */
export type OnExhausted = (budget: Budget) => Promise<void>

/** Emails each reached percentage once per billing period and calls `onExhausted`. False without budgets. */
export async function checkBudgets(deps: Deps, onExhausted?: OnExhausted): Promise<boolean> {
  const budgets = await listBudgets(deps.db)
  for (const standing of await readStandings(deps, budgets)) {
    for (const percent of listReachedPercents(standing.spent, standing.budget.monthly_limit)) {
      if (standing.alerts.some((alert) => alert.percent === percent)) continue
      await announce(deps, standing, percent).catch((error: unknown) => {
        deps.log.error({ err: error, budget: standing.budget.id }, 'an alert of a budget could not be sent')
      })
    }
    await setExhausted(deps, standing)
    if (standing.budget.at_limit === 'sleep' && isExhausted(standing)) await onExhausted?.(standing.budget)
  }
  return budgets.length > 0
}

/** Keeps those whose calls an exhausted budget counts from calling others' deployments in this period. */
async function setExhausted({ db }: Deps, standing: BudgetStanding): Promise<void> {
  const { budget, periodEnd } = standing
  const isOfPeople = budget.scope === 'member' || budget.scope === 'team'
  if (!isOfPeople || budget.at_limit === 'notify') return
  const until = isExhausted(standing) ? periodEnd : null
  if (until?.getTime() === budget.exhausted_until?.getTime()) return
  await db
    .updateTable('budgets')
    .set({ exhausted_until: until })
    .where('id', '=', budget.id)
    // A change of the budget meanwhile has its own check.
    .where('monthly_limit', '=', budget.monthly_limit)
    .where('at_limit', '=', budget.at_limit)
    .execute()
}

/** Records the alert and queues its emails in one transaction: a crash neither loses nor repeats one. */
async function announce(deps: Deps, standing: BudgetStanding, percent: number): Promise<void> {
  const { budget, spent, periodStart, periodEnd } = standing
  await deps.db.transaction().execute(async (transaction) => {
    const alertId = await insertAlert(transaction, {
      budget_id: budget.id,
      period_start: periodStart,
      period_end: periodEnd,
      percent,
      spent,
      monthly_limit: budget.monthly_limit,
      at: deps.clock(),
    })
    if (alertId === undefined) return
    await queueAlert(deps, transaction, budget.organization_id, {
      type: 'budget.reached',
      data: toAlertData(deps, standing, percent),
    })
    for (const recipient of await listRecipients(transaction, budget)) {
      await queueMail(deps, transaction, { kind: 'budget_alert', subjectId: alertId, recipient })
    }
  })
}

function toAlertData(
  { config }: Pick<Deps, 'config'>,
  { budget, spent, periodStart, periodEnd }: BudgetStanding,
  percent: number,
): AlertData['budget.reached'] {
  return {
    budget_id: budget.id,
    scope: budget.scope,
    scope_id: scopeIdOf(budget),
    percent,
    spent,
    monthly_limit: formatDecimal(budget.monthly_limit),
    currency: config.billing.currency,
    period_start: periodStart,
    period_end: periodEnd,
  }
}

/** The organization's admins, and those whose budget it is. */
async function listRecipients(transaction: DatabaseTransaction, budget: Budget): Promise<Set<string>> {
  const recipients = new Set(await listAdminEmails(transaction, budget.organization_id))
  if (budget.team_id !== null) {
    for (const email of await listTeamEmails(transaction, budget.team_id)) recipients.add(email)
  }
  if (budget.user_id === null) return recipients
  const member = await findMembership(transaction, budget.organization_id, { userId: budget.user_id })
  return member === undefined || member.isService ? recipients : recipients.add(member.email)
}
