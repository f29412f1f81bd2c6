import { ApplicationError } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'
import { Exact, subtract } from '../../metering/decimal.ts'
import { isExhausted, readStandings, toReadableAmount } from './standing.ts'
import type { BudgetStanding } from './standing.ts'
import { listBudgets } from './store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'prices'>

/** What is about to start, and whose budgets it would spend. */
export interface Start {
  organizationId: number
  /** The owner */
  userId: number
  /** null before the deployment exists */
  deploymentId: string | null
  /** The price of its instance; null if it has none */
  pricePerHour: string | null
}

/** Throws `budget_exhausted` if a budget blocks the start. */
export async function assertBudgetsAllow(deps: Deps, start: Start): Promise<void> {
  const reason = await findBudgetBlock(deps, start)
  if (reason !== null) throw new ApplicationError('budget_exhausted', reason)
}

/** A sentence that says which budget blocks a start and by how much its limit was passed; null if none does. */
export async function findBudgetBlock(deps: Deps, start: Start): Promise<string | null> {
  const budgets = await listBudgets(deps.db, { organizationId: start.organizationId })
  const blocking = budgets.filter(
    ({ at_limit: atLimit, scope, user_id: userId, deployment_id: deploymentId }) =>
      atLimit === 'block' &&
      (scope === 'organization' ||
        (scope === 'member' ? userId === start.userId : deploymentId === start.deploymentId)),
  )
  const { currency } = deps.config.billing
  for (const standing of await readStandings(deps, blocking)) {
    const reason = explainBlock(standing, start.pricePerHour ?? '0', currency)
    if (reason !== null) return reason
  }
  return null
}

const budgetNames = {
  organization: 'The budget of the organization',
  member: 'The budget of this member',
  deployment: 'The budget of this deployment',
} as const

/** Hardware is a rate: what would pass the limit within one minute counts as passing it now. */
export function explainBlock(
  standing: Pick<BudgetStanding, 'budget' | 'spent' | 'pending' | 'perHour' | 'periodEnd'>,
  pricePerHour: string,
  currency: string,
): string | null {
  const { budget, spent, pending, perHour, periodEnd } = standing
  const limit = budget.monthly_limit
  const name = budgetNames[budget.scope]
  const readable = (amount: string) => toReadableAmount(amount, currency)
  const advice = `Raise the limit, or wait for the next billing period, which begins on ${periodEnd.toISOString().slice(0, 10)}.`
  if (isExhausted(standing)) {
    const excess = subtract(spent, limit)
    const passed = excess === '0' ? '' : `, ${readable(excess)} more than its limit`
    return `${name} is exhausted: ${readable(spent)} of ${readable(limit)} are spent${passed}. ${advice}`
  }
  const inOneMinute = new Exact(perHour).plus(pricePerHour).dividedBy(60).plus(spent).plus(pending)
  if (inOneMinute.lte(limit)) return null
  const excess = inOneMinute.minus(limit).toFixed()
  return `${name} is almost exhausted: ${readable(spent)} of ${readable(limit)} are spent, and within a minute this start would pass the limit by ${readable(excess)}. ${advice}`
}
