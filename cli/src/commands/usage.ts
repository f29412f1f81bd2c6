import type {
  DailyUsage,
  UsageByDeployment,
  UsageByMember,
  UsageByModel,
  UsageByTeam,
  UsageTotal,
} from '../../../console/src/contract.ts'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'

type Grouped = DailyUsage | UsageByTeam | UsageByMember | UsageByDeployment | UsageByModel
type Item = Grouped['items'][number]

interface UsageOptions {
  by?: 'day' | 'team' | 'member' | 'deployment' | 'model'
  from?: string
  to?: string
}

/** Shows the usage of the billing period, or of days, in groups. */
export async function usage({ env, output }: Context, { by, from, to }: UsageOptions): Promise<void> {
  const client = await connectClient(env)
  if (by === undefined && from === undefined && to === undefined) {
    const summary = await client.call('GET', '/v1/billing/usage-summary')
    return output.result(summary, () => {
      output.facts([
        ['From', summary.period_start],
        ['To', summary.period_end],
        ['Most instances', `${summary.active_resources} of ${summary.max_active_resources}`],
      ])
      output.line('')
      output.table(
        ['USAGE', 'OF', 'QUANTITY', 'AMOUNT'],
        summary.usage_totals.map(describeTotal),
        'No usage.',
      )
    })
  }
  const usage = await client.call('GET', '/v1/billing/usage', { query: { group_by: by, from, to } })
  output.result(usage, () =>
    output.table(
      [(by ?? 'day').toUpperCase(), 'USAGE', 'OF', 'QUANTITY', 'AMOUNT'],
      (usage.items as Item[]).map((item) => describeItem(item, usage.currency)),
      'No usage.',
    ),
  )
}

/** A row of a usage total. */
export function describeTotal(total: UsageTotal): string[] {
  return [
    total.display_name,
    Object.values(total.dimensions).join(' '),
    `${total.total_quantity} ${total.unit}s`,
    `${total.estimated_amount} ${total.estimated_amount_currency}`,
  ]
}

function describeItem(item: Item, currency: string): string[] {
  const { meter, unit, dimensions, quantity, estimated_amount: amount } = item
  const of = Object.values(dimensions).join(' ')
  return [nameGroup(item), meter, of, `${quantity} ${unit}s`, `${amount} ${currency}`]
}

function nameGroup(item: Item): string {
  if ('date' in item) return item.date
  if ('team_id' in item) return item.team_name ?? (item.team_id === null ? '(no team)' : '(deleted team)')
  if ('email' in item) return item.email
  if ('deployment_id' in item) return item.deployment_id
  return item.model_name
}
