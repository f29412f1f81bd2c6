import { sql } from 'kysely'
import type { Insertable, Selectable, Updateable } from 'kysely'
import type { Database } from '../../../database/tables.ts'
import { ownerTeam } from '../../metering/usage-team.ts'
import type { BudgetAlertsTable, BudgetsTable } from './tables.ts'

export type Budget = Selectable<BudgetsTable>
export type BudgetAlert = Selectable<BudgetAlertsTable>

/** The budgets of these organizations, or of all, oldest first. */
export function listBudgets(db: Database, organizationIds?: readonly number[]): Promise<Budget[]> {
  const budgets = db.selectFrom('budgets').selectAll().orderBy('id')
  return organizationIds === undefined
    ? budgets.execute()
    : budgets.where('organization_id', 'in', organizationIds).execute()
}

/** Whom a budget limits: a member, and their teams. */
interface Limited {
  organizationId: number
  userId: number
  teamIds: readonly number[]
}

/** The budgets of the organization, the member, their teams and their deployments, oldest first. */
export function listBudgetsOfMember(
  db: Database,
  { organizationId, userId, teamIds }: Limited,
): Promise<Budget[]> {
  const owned = db.selectFrom('deployments').select('id').where('user_id', '=', userId)
  return db
    .selectFrom('budgets')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where((where) =>
      where.or([
        where('scope', '=', 'organization'),
        where('user_id', '=', userId),
        sql<boolean>`team_id = ANY(${teamIds})`,
        where('deployment_id', 'in', owned),
      ]),
    )
    .orderBy('id')
    .execute()
}

/** The name of the team or the member, or the model of the deployment, by budget id. */
export async function listScopeNames(
  db: Database,
  budgetIds: readonly number[],
): Promise<Map<number, string | null>> {
  const names = await db
    .selectFrom('budgets')
    .leftJoin('teams', 'teams.id', 'budgets.team_id')
    .leftJoin('users', 'users.id', 'budgets.user_id')
    .leftJoin('deployments', 'deployments.id', 'budgets.deployment_id')
    .select([
      'budgets.id',
      ({ fn }) => fn.coalesce('teams.name', 'users.name', 'deployments.model_name').as('name'),
    ])
    .where(sql<boolean>`budgets.id = ANY(${budgetIds})`)
    .execute()
  return new Map(names.map(({ id, name }) => [id, name]))
}

/** Locks a budget of an organization until the transaction ends. */
export function lockBudget(db: Database, organizationId: number, id: number): Promise<Budget | undefined> {
  return db
    .selectFrom('budgets')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
}

/** Inserts a budget; undefined if its scope has one. */
export function insertBudget(db: Database, budget: Insertable<BudgetsTable>): Promise<Budget | undefined> {
  return db
    .insertInto('budgets')
    .values(budget)
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()
}

export function updateBudget(db: Database, id: number, changes: Updateable<BudgetsTable>): Promise<Budget> {
  return db.updateTable('budgets').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
}

export async function deleteBudget(db: Database, id: number): Promise<void> {
  await db.deleteFrom('budgets').where('id', '=', id).execute()
}

/** The alerts of these budgets in billing periods that end after `now`, in order. */
export async function listCurrentAlerts(
  db: Database,
  budgetIds: readonly number[],
  now: Date,
): Promise<BudgetAlert[]> {
  if (budgetIds.length === 0) return []
  return db
    .selectFrom('budget_alerts')
    .selectAll()
    .where(sql<boolean>`budget_id = ANY(${budgetIds})`)
    .where('period_end', '>', now)
    .orderBy('percent')
    .execute()
}

/** Inserts an alert unless it exists or the limit has changed since; returns its id. */
export async function insertAlert(
  db: Database,
  alert: Insertable<BudgetAlertsTable>,
): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`
    INSERT INTO budget_alerts (budget_id, period_start, period_end, percent, spent, monthly_limit, at)
    SELECT id, ${alert.period_start}::timestamptz, ${alert.period_end}::timestamptz, ${alert.percent}::integer,
      ${alert.spent}::numeric, monthly_limit, ${alert.at}::timestamptz
    FROM budgets WHERE id = ${alert.budget_id} AND monthly_limit = ${alert.monthly_limit} FOR SHARE
    ON CONFLICT DO NOTHING
    RETURNING id`.execute(db)
  return rows[0]?.id
}

export function findAlert(
  db: Database,
  id: number,
): Promise<
  | (BudgetAlert &
      Pick<Budget, 'organization_id' | 'scope' | 'team_id' | 'user_id' | 'deployment_id' | 'at_limit'>)
  | undefined
> {
  return db
    .selectFrom('budget_alerts')
    .innerJoin('budgets', 'budgets.id', 'budget_alerts.budget_id')
    .selectAll('budget_alerts')
    .select(['organization_id', 'scope', 'team_id', 'user_id', 'deployment_id', 'at_limit'])
    .where('budget_alerts.id', '=', id)
    .executeTakeFirst()
}

/** The owner of a deployment, and the team that has their usage of it; null for none. */
export interface DeploymentOwner {
  userId: number | null
  teamId: number | null
}

/** The owners of deployments, by deployment id. */
export async function findOwners(
  db: Database,
  ids: readonly string[],
): Promise<Map<string, DeploymentOwner>> {
  if (ids.length === 0) return new Map()
  const owners = await db
    .selectFrom('deployments')
    .select(['id', 'user_id', ownerTeam.as('team_id')])
    .where(sql<boolean>`id = ANY(${ids}::uuid[])`)
    .execute()
  return new Map(owners.map(({ id, user_id: userId, team_id: teamId }) => [id, { userId, teamId }]))
}

/** The team that has the idle time of a member's deployment, or of a new one, whose id is null. */
export async function findOwnerTeam(
  db: Database,
  owned: { organizationId: number; userId: number; deploymentId: string | null },
): Promise<number | null> {
  const { rows } = await sql<{ id: number | null }>`
    SELECT usage_team(${owned.organizationId}, ${owned.userId},
      (SELECT shared_with FROM deployments WHERE id = ${owned.deploymentId}::uuid)) AS id`.execute(db)
  return rows[0]?.id ?? null
}

/** The model of a deployment of an organization; undefined if the organization has no such deployment. */
export async function findModelName(
  db: Database,
  organizationId: number,
  deploymentId: string,
): Promise<string | undefined> {
  const deployment = await db
    .selectFrom('deployments')
    .select('model_name')
    .where('organization_id', '=', organizationId)
    .where('id', '=', deploymentId)
    .executeTakeFirst()
  return deployment?.model_name
}
