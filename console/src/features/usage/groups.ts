import type { UsageByDeployment, UsageByMember, UsageByModel, UsageByTeam } from '../../contract.ts'

/** What the rows of the usage table stand for; undefined in the URL for days. */
export const usageGroups = ['team', 'member', 'deployment', 'model'] as const

export type UsageGroup = (typeof usageGroups)[number]

export type GroupedUsage = UsageByTeam | UsageByMember | UsageByDeployment | UsageByModel

export function readGroup(value: unknown): UsageGroup | undefined {
  return usageGroups.find((group) => group === value)
}
