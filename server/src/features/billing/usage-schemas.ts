import { z } from 'zod'
import { count, entityId, timestamp } from '../../http/schemas.ts'
import type { OpenAnomaly } from '../metering/anomalies.ts'
import type { GroupUsage, UsageGrouping, UsageShare } from '../metering/grouped-usage.ts'
import type { UsageSummary } from '../metering/summary.ts'
import type { ActiveDeployments } from './account/store.ts'

export const usageTotalBody = z
  .object({
    meter: z.string().meta({ examples: ['gpu_instance_seconds'], description: 'What is measured' }),
    unit: z.string().describe('Unit of the quantity'),
    total_quantity: z.string().describe('A decimal'),
    service_key: z.string().describe('Identifies the price'),
    display_name: z.string().describe('Name of the price, for people'),
    dimensions: z
      .record(z.string(), z.string())
      .describe('What the price depends on, such as the instance type'),
    unit_amount_decimal: z.string().describe('A decimal in the main unit of the currency'),
    unit_amount_currency: z.string().describe('Currency of the unit amount'),
    estimated_amount: z.string().describe('Quantity times unit amount, not rounded'),
    estimated_amount_currency: z.string().describe('Currency of the estimate'),
  })
  .meta({ id: 'UsageTotal', description: 'The usage of a meter at one price' })

export const usageSummaryBody = z
  .object({
    organization_id: entityId.describe('The organization'),
    period_start: timestamp.describe('Start of the billing period'),
    period_end: timestamp.describe('End of the billing period'),
    currency: z.string().describe('Currency of the organization'),
    usage_totals: z.array(usageTotalBody).describe('One item for each meter and price'),
    open_anomalies: count.describe('Anomalies that are not resolved'),
    max_active_resources: count.describe(
      'Maximum number of deployments that are not failed or terminated; one with several instances counts as often as its `max_instances`',
    ),
    active_resources: count.describe('Current number of these deployments, of all members'),
    active_deployments: count.describe('The same, with each deployment once'),
    running_deployments: count.describe('Those of them that run'),
    price_per_hour: z
      .string()
      .describe('What the instances cost per hour that run or start now: a decimal in `currency`'),
  })
  .meta({ id: 'UsageSummary', description: 'Usage of the current billing period' })

const date = z.iso.date().meta({ examples: ['2026-01-02'] })

export const usageQuery = z.object({
  from: date.optional().describe('The first UTC day; defaults to the first day of the billing period'),
  to: date.optional().describe('The last UTC day; defaults to today'),
  group_by: z
    .enum(['day', 'team', 'member', 'deployment', 'model'])
    .default('day')
    .describe(
      'What each item stands for. A member’s usage are the tokens of their requests, the seconds in which an instance worked for them, and the idle rest of the deployments they own. A team’s is that of the members whose oldest team it is, or the oldest of theirs with which the deployment is shared, as of the requests',
    ),
})

const measured = {
  meter: z.string().meta({ description: 'What is measured', examples: ['gpu_instance_seconds'] }),
  unit: z.string().describe('Unit of the quantity'),
  dimensions: z
    .record(z.string(), z.string())
    .describe('What the price depends on, such as the instance type'),
  quantity: z.string().describe('A decimal'),
  estimated_amount: z.string().describe('A decimal in the main unit of `currency`, not rounded'),
}

const modelName = { model_name: z.string().describe('The model that the deployment serves') }

const groups = {
  day: { date: date.describe('A UTC day') },
  team: {
    team_id: entityId.nullable().describe('The team; null for usage of people without one'),
    team_name: z.string().nullable().describe('Its name; null for a deleted team too'),
  },
  member: {
    user_id: entityId.describe('The caller, or the owner for idle time'),
    email: z
      .string()
      .describe(
        'Their email; `outside: ` and a name for the requests of a program for somebody who is no member',
      ),
  },
  deployment: { deployment_id: z.string().describe('The deployment'), ...modelName },
  model: modelName,
}

function usageBody<Group extends z.core.$ZodLooseShape>(group: Group, name: string) {
  return z.object({
    from: date.describe('First day'),
    to: date.describe('Last day'),
    currency: z.string().describe('Currency of the amounts'),
    items: z
      .array(z.object({ ...group, ...measured }))
      .describe(`One item for each ${name}, meter and combination of dimensions with usage`),
  })
}

const dailyUsageBody = usageBody(groups.day, 'day').meta({
  id: 'DailyUsage',
  description: 'Usage and its estimated cost, by day',
})
const teamUsageBody = usageBody(groups.team, 'team').meta({
  id: 'UsageByTeam',
  description: 'Usage and its estimated cost, by team',
})
const memberUsageBody = usageBody(groups.member, 'person').meta({
  id: 'UsageByMember',
  description: 'Usage and its estimated cost, by member',
})
const deploymentUsageBody = usageBody(groups.deployment, 'deployment').meta({
  id: 'UsageByDeployment',
  description: 'Usage and its estimated cost, by deployment',
})
const modelUsageBody = usageBody(groups.model, 'model').meta({
  id: 'UsageByModel',
  description: 'Usage and its estimated cost, by model',
})

export const groupedUsageBody = z
  .union([dailyUsageBody, teamUsageBody, memberUsageBody, deploymentUsageBody, modelUsageBody])
  .describe('Usage and its estimated cost, in the requested groups')

/** The columns of the CSV file for each grouping. */
export function listCsvColumns(grouping: keyof typeof groups): string[] {
  return [...Object.keys(groups[grouping]), ...Object.keys(measured), 'currency']
}

export const usageAnomalyBody = z
  .object({
    id: entityId.describe('Id of the anomaly'),
    kind: z.string().meta({ examples: ['provider_disagrees'], description: 'What kind of check failed' }),
    message: z.string().describe('A sentence for a person'),
    deployment_id: z.string().nullable().describe('null when no single deployment is affected'),
    detected_at: timestamp.describe('First detection'),
    last_seen_at: timestamp.describe('Latest detection'),
  })
  .meta({ id: 'UsageAnomaly', description: 'A disagreement between records of usage' })

export const usageAnomaliesBody = z.array(usageAnomalyBody).describe('The open anomalies')

export function toUsageSummaryBody(
  summary: UsageSummary,
  { max, active, perHour }: { max: number; active: ActiveDeployments; perHour: string },
): z.infer<typeof usageSummaryBody> {
  return {
    organization_id: summary.organizationId,
    period_start: summary.periodStart.toISOString(),
    period_end: summary.periodEnd.toISOString(),
    currency: summary.currency,
    usage_totals: summary.usageTotals.map((total) => ({
      meter: total.meter,
      unit: total.unit,
      total_quantity: total.totalQuantity,
      service_key: total.serviceKey,
      display_name: total.displayName,
      dimensions: total.dimensions,
      unit_amount_decimal: total.unitAmount,
      unit_amount_currency: total.currency,
      estimated_amount: total.estimatedAmount,
      estimated_amount_currency: total.currency,
    })),
    open_anomalies: summary.openAnomalies,
    max_active_resources: max,
    active_resources: active.instances,
    active_deployments: active.count,
    running_deployments: active.running,
    price_per_hour: perHour,
  }
}

type UsageHead = Omit<z.infer<typeof dailyUsageBody>, 'items'>

export function toDailyUsageBody(
  head: UsageHead,
  rows: readonly GroupUsage<string>[],
): z.infer<typeof groupedUsageBody> {
  return { ...head, items: rows.map((row) => ({ date: row.group, ...toMeasured(row) })) }
}

export function toGroupedUsageBody(
  head: UsageHead,
  rows: readonly GroupUsage<UsageShare>[],
  grouping: UsageGrouping,
): z.infer<typeof groupedUsageBody> {
  if (grouping === 'team') {
    return {
      ...head,
      items: rows.map((row) => ({
        team_id: row.group.teamId,
        team_name: row.group.teamName,
        ...toMeasured(row),
      })),
    }
  }
  if (grouping === 'member') {
    return {
      ...head,
      items: rows.map((row) => ({
        user_id: row.group.userId,
        email: row.group.outsideName === null ? row.group.email : `outside: ${row.group.outsideName}`,
        ...toMeasured(row),
      })),
    }
  }
  const items = rows.map((row) => ({ model_name: row.group.modelName, ...toMeasured(row) }))
  if (grouping === 'model') return { ...head, items }
  return {
    ...head,
    items: rows.map((row, index) => ({ deployment_id: row.group.deploymentId, ...items[index]! })),
  }
}

function toMeasured({ meter, unit, dimensions, quantity, estimatedAmount }: GroupUsage<unknown>) {
  return { meter, unit, dimensions, quantity, estimated_amount: estimatedAmount }
}

export function toUsageAnomalyBody(anomaly: OpenAnomaly): z.infer<typeof usageAnomalyBody> {
  return {
    id: anomaly.id,
    kind: anomaly.kind,
    message: anomaly.message,
    deployment_id: anomaly.deploymentId,
    detected_at: anomaly.openedAt.toISOString(),
    last_seen_at: anomaly.seenAt.toISOString(),
  }
}
