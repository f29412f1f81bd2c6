import type { Services } from '../../../services.ts'
import { listCurrentPeriods } from '../usage/current-period.ts'
import { add, Exact, formatDecimal } from '../../../base/decimal.ts'
import { sumCallCosts } from '../../metering/call-costs.ts'
import { sumSpending } from '../../metering/spending.ts'
import { findOwners, listCurrentAlerts } from './store.ts'
import type { Budget, BudgetAlert, DeploymentOwner } from './store.ts'

/** The percentages of a limit that cause an email. */
export const alertPercents = [50, 80, 100] as const

const dayMilliseconds = 24 * 3_600_000
/** A forecast is an estimate, and a share of a period has no end of digits. */
const forecastDecimals = 6

/** A budget with its spending in this billing period: decimal strings in the account's currency. */
export interface BudgetStanding {
  budget: Budget
  periodStart: Date
  periodEnd: Date
  /** Exact, not rounded */
  spent: string
  /** Of instances that don't serve yet */
  pending: string
  /** Spent at the end of the period, if the rest of it costs as much per hour as the last 24 hours */
  forecast: string
  /** Those of this period, in order */
  alerts: BudgetAlert[]
}

/** Reads how much of these budgets is spent, those of all organizations together. */
export async function readStandings(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'prices'>,
  budgets: readonly Budget[],
): Promise<BudgetStanding[]> {
  if (budgets.length === 0) return []
  const { db } = deps
  const now = deps.clock()
  const organizationIds = [...new Set(budgets.map((budget) => budget.organization_id))]
  const periods = await listCurrentPeriods(deps, organizationIds)
  const wanted = [...periods].map(([organizationId, period]) => ({ organizationId, period }))
  const spending = await sumSpending(deps, wanted)
  const ofPeople = budgets.filter(({ scope }) => scope === 'member' || scope === 'team')
  const ids = ofPeople.length > 0 ? spending.map(({ deploymentId }) => deploymentId) : []
  const owners = await findOwners(db, ids)
  const limited = new Set(ofPeople.map((budget) => budget.organization_id))
  const calls = await sumCallCosts(
    deps,
    wanted.filter(({ organizationId }) => limited.has(organizationId)),
  )
  const alerts = Map.groupBy(
    await listCurrentAlerts(
      db,
      budgets.map(({ id }) => id),
      now,
    ),
    (alert) => alert.budget_id,
  )
  return budgets.flatMap((budget) => {
    const period = periods.get(budget.organization_id)
    if (period === undefined) return []
    const own = spending.filter(
      ({ organizationId, deploymentId }) =>
        organizationId === budget.organization_id &&
        isInScope(budget, { ...(owners.get(deploymentId) ?? nobody), deploymentId }),
    )
    const called = calls.filter(
      ({ organizationId, scope, scopeId }) =>
        organizationId === budget.organization_id && scope === budget.scope && scopeId === scopeIdOf(budget),
    )
    // A team has shares of deployments, so that those of all teams add up to what the organization spends.
    const counted = budget.scope === 'team' ? called : [...own, ...called]
    const sum = (name: 'spent' | 'recent') => counted.reduce((total, each) => add(total, each[name]), '0')
    const spent = sum('spent')
    return {
      budget,
      periodStart: period.start,
      periodEnd: period.end,
      spent,
      pending: own.reduce((total, { pending }) => add(total, pending), '0'),
      forecast: forecastSpending(spent, sum('recent'), period.end.getTime() - now.getTime()),
      alerts: (alerts.get(budget.id) ?? []).filter(
        (alert) => alert.period_start.getTime() === period.start.getTime(),
      ),
    }
  })
}

const nobody: DeploymentOwner = { userId: null, teamId: null }

/** The id of the team, the member or the deployment of a budget; null for the organization. */
export function scopeIdOf(
  budget: Pick<Budget, 'team_id' | 'user_id' | 'deployment_id'>,
): number | string | null {
  return budget.team_id ?? budget.user_id ?? budget.deployment_id
}

/** Whether a budget counts a deployment of its organization and this owner. */
export function isInScope(
  budget: Pick<Budget, 'scope' | 'team_id' | 'user_id' | 'deployment_id'>,
  { userId, teamId, deploymentId }: DeploymentOwner & { deploymentId: string | null },
): boolean {
  const ids = { organization: null, team: teamId, member: userId, deployment: deploymentId }
  return ids[budget.scope] === scopeIdOf(budget)
}

/** Those of the deployments of its organization that a budget counts. */
export async function listInScope(
  { db }: Pick<Services, 'db'>,
  budget: Budget,
  deploymentIds: readonly string[],
): Promise<string[]> {
  const owners = await findOwners(db, deploymentIds)
  return deploymentIds.filter((deploymentId) =>
    isInScope(budget, { ...(owners.get(deploymentId) ?? nobody), deploymentId }),
  )
}

/** Adds the rest of a period, in milliseconds, at the cost of the last 24 hours to what was spent. */
export function forecastSpending(spent: string, lastDay: string, restMilliseconds: number): string {
  const rest = new Exact(lastDay).times(Math.max(0, restMilliseconds)).dividedBy(dayMilliseconds)
  return add(spent, rest.toDecimalPlaces(forecastDecimals).toFixed())
}

/** The percentages of its limit that a budget has reached, in order. */
export function listReachedPercents(spent: string, limit: string): number[] {
  return alertPercents.filter((percent) => new Exact(spent).times(100).gte(new Exact(limit).times(percent)))
}

export function isExhausted({ spent, budget }: Pick<BudgetStanding, 'spent' | 'budget'>): boolean {
  return new Exact(spent).gte(budget.monthly_limit)
}

/** An amount for people, e.g. `12.5 USD`: two decimals, or as many as six significant digits need. */
export function toReadableAmount(amount: string, currency: string): string {
  const exact = new Exact(amount)
  const rounded = exact.abs().gte(1000) ? exact.toDecimalPlaces(2) : exact.toSignificantDigits(6)
  return `${formatDecimal(rounded)} ${currency.toUpperCase()}`
}
