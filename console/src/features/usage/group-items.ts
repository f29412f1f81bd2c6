import { sumDecimals } from '../../domain/billing/decimal.ts'
import { text } from '../../text/index.ts'
import type { GroupedUsage } from './groups.ts'

type Item = GroupedUsage['items'][number]

export interface UsageRows {
  key: string
  label: string
  deploymentId: string | null
  items: Item[]
  /** A decimal string */
  amount: string
}

/** Collects the items of each group, the group with the highest amount first. */
export function groupItems(items: readonly Item[]): UsageRows[] {
  const groups = Map.groupBy(items, (item) => describeGroup(item).key)
  return [...groups.values()]
    .map((own) => ({
      ...describeGroup(own[0]!),
      items: own,
      amount: sumDecimals(own.map((item) => item.estimated_amount)),
    }))
    .toSorted((one, other) => Number(other.amount) - Number(one.amount))
}

function describeGroup(item: Item): Omit<UsageRows, 'items' | 'amount'> {
  if ('team_id' in item) {
    const { team_id: id, team_name: name } = item
    const label = name ?? (id === null ? text.usage.noTeam : text.usage.deletedTeam)
    return { key: String(id), label, deploymentId: null }
  }
  if ('email' in item) return { key: String(item.user_id), label: item.email, deploymentId: null }
  const deploymentId = 'deployment_id' in item ? item.deployment_id : null
  return { key: deploymentId ?? item.model_name, label: item.model_name, deploymentId }
}
