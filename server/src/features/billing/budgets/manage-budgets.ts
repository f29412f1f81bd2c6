import { ApplicationError, NotFoundError, invalidField } from '../../../base/errors.ts'
import type { Viewer } from '../../../base/viewer.ts'
import type { Database, DatabaseTransaction } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import { recordAction } from '../../audit/record-action.ts'
import { getCurrentPeriod } from '../usage/current-period.ts'
import { formatDecimal } from '../../../base/decimal.ts'
import { findStanding } from '../../../base/standing.ts'
import { isMember } from '../../organizations/memberships.ts'
import { holdTeams } from '../../teams/hold-teams.ts'
import { readStandings } from './standing.ts'
import type { BudgetStanding } from './standing.ts'
import {
  deleteBudget,
  findModelName,
  insertBudget,
  listBudgets,
  listBudgetsOfMember,
  listScopeNames,
  lockBudget,
  updateBudget,
} from './store.ts'
import type { Budget } from './store.ts'
import type { BudgetScope, LimitAction } from './tables.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'prices'>

export interface BudgetTerms {
  monthlyLimit: string
  atLimit: LimitAction
}

/** A standing with the name of the team or member, or the model; null for the organization. */
export type NamedStanding = BudgetStanding & { scopeName: string | null }

/** The budgets of the viewer's current organization with what was spent of each, oldest first. */
export async function listBudgetStandings(deps: Deps, viewer: Viewer): Promise<NamedStanding[]> {
  return readNamedStandings(deps, await listBudgets(deps.db, [viewer.organizationId]))
}

/** Those of the budgets that limit the viewer: their deployments, and what they and their teams call. */
export async function listOwnBudgetStandings(deps: Deps, viewer: Viewer): Promise<NamedStanding[]> {
  const { organizationId, userId } = viewer
  const teamIds = findStanding(viewer, organizationId)?.teamIds ?? []
  return readNamedStandings(deps, await listBudgetsOfMember(deps.db, { organizationId, userId, teamIds }))
}

async function readNamedStandings(deps: Deps, budgets: readonly Budget[]): Promise<NamedStanding[]> {
  const ids = budgets.map(({ id }) => id)
  const names = await listScopeNames(deps.db, ids)
  const standings = await readStandings(deps, budgets)
  return standings.map((standing) => ({ ...standing, scopeName: names.get(standing.budget.id) ?? null }))
}

/** Adds a budget. `scopeId` is the id of a team, a user or a deployment; null for the organization. */
export async function createBudget(
  deps: Deps,
  viewer: Viewer,
  scope: { scope: BudgetScope; scopeId: number | string | null },
  { monthlyLimit, atLimit }: BudgetTerms,
  managedBy: string | null = null,
): Promise<NamedStanding> {
  const { organizationId } = viewer
  // Creates the billing account, whose period is the budget's.
  await getCurrentPeriod(deps, organizationId)
  const at = deps.clock()
  const budget = await deps.db.transaction().execute(async (transaction) => {
    const columns = await findScope(transaction, organizationId, scope)
    const terms = { monthly_limit: monthlyLimit, at_limit: atLimit }
    const inserted = await insertBudget(transaction, {
      organization_id: organizationId,
      ...columns,
      ...terms,
      managed_by: managedBy,
      created_at: at,
      updated_at: at,
    })
    if (inserted === undefined) {
      const message = 'This scope has a budget already. Change that budget.'
      throw new ApplicationError('budget_exists', message)
    }
    const details = { scope: scope.scope, scope_id: scope.scopeId, ...terms }
    const target = await describeTarget(transaction, inserted)
    await recordAction(transaction, viewer, 'budget.created', { target, details })
    await deps.jobs.enqueue(transaction, 'check-budgets', null)
    return inserted
  })
  return readStanding(deps, budget)
}

/** Changes a budget of the viewer's current organization. */
export async function changeBudget(
  deps: Deps,
  viewer: Viewer,
  id: number,
  { monthlyLimit, atLimit }: Partial<BudgetTerms>,
): Promise<NamedStanding> {
  const changed = await deps.db.transaction().execute(async (transaction) => {
    const budget = await getLockedBudget(transaction, viewer, id)
    const terms = {
      monthly_limit: formatDecimal(monthlyLimit ?? budget.monthly_limit),
      at_limit: atLimit ?? budget.at_limit,
    }
    const before = { monthly_limit: formatDecimal(budget.monthly_limit), at_limit: budget.at_limit }
    if (terms.monthly_limit === before.monthly_limit && terms.at_limit === before.at_limit) return budget
    const details = { ...terms, before }
    const target = await describeTarget(transaction, budget)
    await recordAction(transaction, viewer, 'budget.updated', { target, details })
    await deps.jobs.enqueue(transaction, 'check-budgets', null)
    // The check decides again whether it is exhausted.
    return updateBudget(transaction, id, { ...terms, exhausted_until: null, updated_at: deps.clock() })
  })
  return readStanding(deps, changed)
}

/** Deletes a budget of the viewer's current organization, and its alerts. */
export async function removeBudget({ db }: Deps, viewer: Viewer, id: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const budget = await getLockedBudget(transaction, viewer, id)
    const target = await describeTarget(transaction, budget)
    await recordAction(transaction, viewer, 'budget.deleted', { target })
    await deleteBudget(transaction, id)
  })
}

async function getLockedBudget(
  transaction: Database,
  { organizationId }: Viewer,
  id: number,
): Promise<Budget> {
  const budget = await lockBudget(transaction, organizationId, id)
  if (budget === undefined) throw new NotFoundError('There is no such budget.')
  return budget
}

async function readStanding(deps: Deps, budget: Budget): Promise<NamedStanding> {
  const [standing] = await readNamedStandings(deps, [budget])
  if (standing === undefined) throw new Error('the organization of a budget has no billing account')
  return standing
}

type ScopeColumns = Pick<Budget, 'scope' | 'team_id' | 'user_id' | 'deployment_id'>

/** Throws `validation_failed` for what isn't the organization's. */
async function findScope(
  db: DatabaseTransaction,
  organizationId: number,
  { scope, scopeId }: { scope: BudgetScope; scopeId: number | string | null },
): Promise<ScopeColumns> {
  const none = { team_id: null, user_id: null, deployment_id: null }
  if (scope === 'organization' && scopeId === null) return { scope, ...none }
  if (scope === 'team' && typeof scopeId === 'number') {
    const held = await holdTeams(db, organizationId, [scopeId])
    if (held.length === 1) return { scope, ...none, team_id: scopeId }
  }
  if (scope === 'member' && typeof scopeId === 'number' && (await isMember(db, scopeId, organizationId))) {
    return { scope, ...none, user_id: scopeId }
  }
  if (scope === 'deployment' && typeof scopeId === 'string') {
    const model = await findModelName(db, organizationId, scopeId)
    if (model !== undefined) return { scope, ...none, deployment_id: scopeId }
  }
  throw invalidScope(scope)
}

const scopeRules = {
  organization: 'A budget of the organization has no scope_id.',
  team: 'Must be the id of a team of your organization.',
  member: 'Must be the user id of a member of your organization.',
  deployment: 'Must be the id of a deployment of your organization.',
} as const

function invalidScope(scope: BudgetScope): ApplicationError {
  return invalidField('scope_id', scopeRules[scope], 'invalid_value')
}

/** The budget as a target of the audit log, with the name of what it limits */
async function describeTarget(db: Database, { id }: Budget) {
  const names = await listScopeNames(db, [id])
  return { type: 'budget', id, name: names.get(id) ?? null } as const
}
