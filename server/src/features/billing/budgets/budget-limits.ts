import { ApplicationError } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'
import type { Database, DatabaseTransaction } from '../../../database/tables.ts'
import { add, Exact, subtract } from '../../../base/decimal.ts'
import { listHourlyRates } from '../../metering/hourly-rates.ts'
import { isExhausted, isInScope, readStandings, toReadableAmount } from './standing.ts'
import type { BudgetStanding } from './standing.ts'
import { findOwnerTeam, listBudgets } from './store.ts'
import type { Budget } from './store.ts'

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

/** Reads the budgets that could block a start, in a snapshot before `assertBudgetsAllow`'s transaction. */
export async function readBlockingBudgets(
  deps: Deps,
  start: Omit<Start, 'pricePerHour'>,
): Promise<BudgetStanding[]> {
  return readBlockingStandings(deps, await listBudgets(deps.db, [start.organizationId]), start)
}

async function readBlockingStandings(
  deps: Deps,
  budgets: readonly Budget[],
  start: Omit<Start, 'pricePerHour'>,
): Promise<BudgetStanding[]> {
  const blocking = budgets.filter((budget) => budget.at_limit !== 'notify')
  const hasTeam = blocking.some(({ scope }) => scope === 'team')
  const teamId = hasTeam ? await findOwnerTeam(deps.db, start) : null
  return readStandings(
    deps,
    blocking.filter((budget) => isInScope(budget, { ...start, teamId })),
  )
}

/** Throws `budget_exhausted`. Call it with the account locked, so that concurrent starts count in turn. */
export async function assertBudgetsAllow(
  transaction: DatabaseTransaction,
  deps: Omit<Deps, 'db'>,
  standings: readonly BudgetStanding[],
  start: Start,
): Promise<void> {
  const reason = await explainFirstBlock(transaction, deps, standings, start)
  if (reason !== null) throw new ApplicationError('budget_exhausted', reason)
}

/** All budgets of one organization */
export type OrganizationBudgets = readonly Budget[]

/** For each of the organizations, its budgets. */
export async function listBudgetsOf(
  db: Database,
  organizationIds: readonly number[],
): Promise<OrganizationBudgets[]> {
  const budgets = Map.groupBy(
    await listBudgets(db, organizationIds),
    ({ organization_id: organizationId }) => organizationId,
  )
  return organizationIds.map((id) => budgets.get(id) ?? [])
}

/** Says which budget blocks a start and by how much, or null. `budgets`: the organization's, if just read. */
export async function findBudgetBlock(
  deps: Deps,
  start: Start,
  budgets?: OrganizationBudgets,
): Promise<string | null> {
  const known = budgets ?? (await listBudgets(deps.db, [start.organizationId]))
  return explainFirstBlock(deps.db, deps, await readBlockingStandings(deps, known, start), start)
}

async function explainFirstBlock(
  db: Database,
  deps: Omit<Deps, 'db'>,
  standings: readonly BudgetStanding[],
  { organizationId, deploymentId, pricePerHour }: Start,
): Promise<string | null> {
  if (standings.length === 0) return null
  const rates = await listHourlyRates(db, deps, organizationId, deploymentId)
  for (const standing of standings) {
    const own = rates.filter((rate) => isInScope(standing.budget, rate))
    const perHour = own.reduce((sum, rate) => add(sum, rate.perHour), pricePerHour ?? '0')
    const reason = explainBlock(standing, perHour, deps.config.billing.currency)
    if (reason !== null) return reason
  }
  return null
}

const budgetNames = {
  organization: 'The budget of the organization',
  team: 'The budget of this team',
  member: 'The budget of this member',
  deployment: 'The budget of this deployment',
} as const

/** Hardware is a rate: a limit counts as passed one minute early. `perHour`: all instances in the scope. */
export function explainBlock(
  standing: Pick<BudgetStanding, 'budget' | 'spent' | 'pending' | 'periodEnd'>,
  perHour: string,
  currency: string,
): string | null {
  const { budget, spent, pending, periodEnd } = standing
  const limit = budget.monthly_limit
  const name = budgetNames[budget.scope]
  const readable = (amount: string) => toReadableAmount(amount, currency)
  const advice = `Raise the limit, or wait for the next billing period, which begins on ${periodEnd.toISOString().slice(0, 10)}.`
  if (isExhausted(standing)) {
    const excess = subtract(spent, limit)
    const passed = excess === '0' ? '' : `, ${readable(excess)} more than its limit`
    return `${name} is exhausted: ${readable(spent)} of ${readable(limit)} are spent${passed}. ${advice}`
  }
  const inOneMinute = new Exact(perHour).dividedBy(60).plus(spent).plus(pending)
  if (inOneMinute.lte(limit)) return null
  const excess = inOneMinute.minus(limit).toFixed()
  return `${name} is almost exhausted: ${readable(spent)} of ${readable(limit)} are spent, and within a minute this start would pass the limit by ${readable(excess)}. ${advice}`
}
