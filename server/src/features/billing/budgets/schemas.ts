import { z } from 'zod'
import { entityId, managedBy, pathId, timestamp } from '../../../http/schemas.ts'
import { formatDecimal } from '../../../base/decimal.ts'
import { isExhausted, scopeIdOf } from './standing.ts'
import type { BudgetTerms, NamedStanding } from './manage-budgets.ts'
import { budgetScopes, limitActions } from './tables.ts'

const monthlyLimit = z
  .string()
  .regex(/^\d{1,12}(\.\d{1,6})?$/, {
    error: 'Must be an amount such as 250 or 99.95, with at most 12 digits before and 6 after the point.',
    abort: true,
  })
  .refine((amount) => /[1-9]/.test(amount), 'Must be more than 0.')
  .meta({
    examples: ['250.00'],
    description: 'In the main unit of the account’s currency, for one billing period',
  })

const atLimit = z
  .enum(limitActions)
  .describe(
    '`notify`: emails only. `block`: new deployments, wakes and further instances are a 409 `budget_exhausted` as well. `sleep`: running ' +
      'deployments in the scope are put to sleep as well, and requests to them are a 429 `insufficient_quota`',
  )

const scope = z
  .enum(budgetScopes)
  .describe('Whose usage counts. That of all teams, and of people without one, adds up to the organization’s')

export const createBudgetBody = z
  .object({
    scope,
    scope_id: z
      .union([z.int().min(1), z.uuid()])
      .nullish()
      .describe(
        'The id of a team, the user id of a member, or the id of a deployment; omitted for the organization',
      ),
    monthly_limit: monthlyLimit,
    at_limit: atLimit,
    managed_by: managedBy.optional(),
  })
  .meta({ id: 'NewBudget', examples: [{ scope: 'organization', monthly_limit: '250', at_limit: 'notify' }] })

export const updateBudgetBody = z
  .object({
    monthly_limit: monthlyLimit.optional(),
    at_limit: atLimit.optional(),
  })
  .meta({ id: 'BudgetUpdate', examples: [{ monthly_limit: '500' }] })

export function toBudgetTerms(body: z.output<typeof updateBudgetBody>): Partial<BudgetTerms> {
  return {
    ...(body.monthly_limit === undefined ? {} : { monthlyLimit: body.monthly_limit }),
    ...(body.at_limit === undefined ? {} : { atLimit: body.at_limit }),
  }
}

export const budgetParams = z.object({ budget_id: pathId.describe('The budget') })

export const budgetBody = z
  .object({
    id: entityId.describe('The budget'),
    scope,
    scope_id: z
      .union([entityId, z.string()])
      .nullable()
      .describe('Id of the team, user id of the member, or id of the deployment; null for the organization'),
    scope_name: z
      .string()
      .nullable()
      .describe('Name of the team or the member, or model of the deployment; null for the organization'),
    monthly_limit: z.string().describe('A decimal in the main unit of the currency, for one billing period'),
    at_limit: z.enum(limitActions).describe('What happens when the budget is exhausted, next to the emails'),
    spent: z.string().describe('Spent in this period, with running instances up to now; not rounded'),
    forecast: z
      .string()
      .describe('Spent plus the rest of the period at the cost of the last 24 hours, to the sixth decimal'),
    currency: z.string().describe('Currency of the amounts'),
    period_start: timestamp.describe('Start of the billing period'),
    period_end: timestamp.describe('End of the billing period'),
    alerts: z
      .array(
        z.object({
          percent: z.int().describe('50, 80 or 100 percent of the limit'),
          at: timestamp.describe('When it was found'),
        }),
      )
      .describe('The percentages reached in this period'),
    exhausted: z.boolean().describe('Whether the limit is reached'),
    managed_by: managedBy,
  })
  .meta({ id: 'Budget', description: 'A limit of what may be spent in a billing period' })

export const budgetsBody = z.array(budgetBody).describe('Oldest first')

export function toBudgetBody(standing: NamedStanding, currency: string): z.input<typeof budgetBody> {
  const { budget, spent, forecast, periodStart, periodEnd, alerts } = standing
  return {
    id: budget.id,
    scope: budget.scope,
    scope_id: scopeIdOf(budget),
    scope_name: standing.scopeName,
    monthly_limit: formatDecimal(budget.monthly_limit),
    at_limit: budget.at_limit,
    spent,
    forecast,
    currency,
    period_start: periodStart.toISOString(),
    period_end: periodEnd.toISOString(),
    alerts: alerts.map(({ percent, at }) => ({ percent, at: at.toISOString() })),
    exhausted: isExhausted(standing),
    managed_by: budget.managed_by,
  }
}
