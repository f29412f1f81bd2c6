import type { ColumnType, Generated } from 'kysely'

declare module '../../../database/tables.ts' {
  interface Tables {
    budgets: BudgetsTable
    budget_alerts: BudgetAlertsTable
  }
}

export const budgetScopes = ['organization', 'team', 'member', 'deployment'] as const

export type BudgetScope = (typeof budgetScopes)[number]

/** What happens when a budget is exhausted, next to the emails. */
export const limitActions = ['notify', 'block', 'sleep'] as const

export type LimitAction = (typeof limitActions)[number]

export interface BudgetsTable {
  id: Generated<number>
  organization_id: ColumnType<number, number, never>
  scope: ColumnType<BudgetScope, BudgetScope, never>
  team_id: ColumnType<number | null, number | null, never>
  user_id: ColumnType<number | null, number | null, never>
  deployment_id: ColumnType<string | null, string | null, never>
  monthly_limit: string
  at_limit: LimitAction
  managed_by: ColumnType<string | null, string | null, never>
  exhausted_until: ColumnType<Date | null, never, Date | null>
  created_at: Date
  updated_at: Date
}

export interface BudgetAlertsTable {
  id: Generated<number>
  budget_id: number
  period_start: Date
  period_end: Date
  percent: number
  spent: string
  monthly_limit: string
  at: Date
}
