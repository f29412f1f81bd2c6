import { ApiError } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'

/** Lists the budgets of the organization; members see those that limit them. */
export async function listBudgets({ env, output }: Context): Promise<void> {
  const client = await connectClient(env)
  const budgets = await client.call('GET', '/v1/billing/budgets').catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'forbidden') {
      return client.call('GET', '/v1/billing/own-budgets')
    }
    throw error
  })
  output.result(budgets, () => {
    output.table(
      ['ID', 'FOR', 'LIMIT', 'SPENT', 'FORECAST', 'AT LIMIT', 'EXHAUSTED'],
      budgets.map((budget) => [
        String(budget.id),
        budget.scope_name ?? budget.scope,
        `${budget.monthly_limit} ${budget.currency}`,
        budget.spent,
        budget.forecast,
        budget.at_limit,
        budget.exhausted ? 'yes' : 'no',
      ]),
      'No budgets.',
    )
  })
}
