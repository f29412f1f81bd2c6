import { z } from 'zod'
import { timestamp } from '../../http/schemas.ts'
import type { OpenAnomaly } from '../metering/anomalies.ts'
import type { DayUsage } from '../metering/daily-usage.ts'
import type { UsageSummary } from '../metering/summary.ts'

export const usageTotalBody = z
  .object({
    meter: z.string().meta({ examples: ['gpu_instance_seconds'] }),
    unit: z.string(),
    total_quantity: z.string().describe('A decimal'),
    service_key: z.string(),
    display_name: z.string(),
    dimensions: z.record(z.string(), z.string()),
    unit_amount_decimal: z.string().describe('A decimal in the main unit of the currency'),
    unit_amount_currency: z.string(),
    estimated_amount: z.string().describe('Quantity times unit amount, not rounded'),
    estimated_amount_currency: z.string(),
  })
  .meta({ id: 'UsageTotal' })

export const usageSummaryBody = z
  .object({
    organization_id: z.int(),
    period_start: timestamp,
    period_end: timestamp,
    currency: z.string(),
    usage_totals: z.array(usageTotalBody),
    open_anomalies: z.int(),
    max_active_resources: z.int().describe('Maximum number of deployments that are not failed or terminated'),
    active_resources: z.int().describe('Current number of these deployments, of all members'),
  })
  .meta({ id: 'UsageSummary' })

const date = z.iso.date().meta({ examples: ['2026-01-02'] })

export const dailyUsageQuery = z.object({
  from: date.optional().describe('The first UTC day; defaults to the first day of the billing period'),
  to: date.optional().describe('The last UTC day; defaults to today'),
})

export const dailyUsageBody = z
  .object({
    from: date,
    to: date,
    currency: z.string(),
    items: z.array(
      z.object({
        date: date.describe('A UTC day'),
        meter: z.string().meta({ examples: ['gpu_instance_seconds'] }),
        unit: z.string(),
        dimensions: z.record(z.string(), z.string()),
        quantity: z.string().describe('A decimal'),
        estimated_amount: z.string().describe('A decimal in the main unit of `currency`, not rounded'),
      }),
    ),
  })
  .meta({ id: 'DailyUsage' })

export const usageAnomalyBody = z
  .object({
    id: z.int(),
    kind: z.string().meta({ examples: ['provider_disagrees'] }),
    message: z.string().describe('A sentence for a person'),
    deployment_id: z.string().nullable().describe('null when no single deployment is affected'),
    detected_at: timestamp,
    last_seen_at: timestamp,
  })
  .meta({ id: 'UsageAnomaly' })

export const usageAnomaliesBody = z.array(usageAnomalyBody)

export function toUsageSummaryBody(
  summary: UsageSummary,
  resources: { max: number; active: number },
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
    max_active_resources: resources.max,
    active_resources: resources.active,
  }
}

export function toDailyUsageItem(usage: DayUsage): z.infer<typeof dailyUsageBody>['items'][number] {
  return {
    date: usage.date,
    meter: usage.meter,
    unit: usage.unit,
    dimensions: usage.dimensions,
    quantity: usage.quantity,
    estimated_amount: usage.estimatedAmount,
  }
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
