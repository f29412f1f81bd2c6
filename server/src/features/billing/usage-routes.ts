import type { App } from '../../http/app.ts'
import type { Services } from '../../services.ts'
import { listOpenAnomalies } from '../metering/anomalies.ts'
import { listDailyUsage } from '../metering/daily-usage.ts'
import { summarizeUsage } from '../metering/summary.ts'
import { getCurrentPeriod } from './current-period.ts'
import { countActiveDeployments, ensureAccount } from './store.ts'
import { chooseUsageDays, toMoments } from './usage-days.ts'
import {
  dailyUsageBody,
  dailyUsageQuery,
  toDailyUsageItem,
  toUsageAnomalyBody,
  toUsageSummaryBody,
  usageAnomaliesBody,
  usageSummaryBody,
} from './usage-schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'prices'>

/** The usage of an organization by billing period and by day, and its anomalies. */
export function usageRoutes(app: App, deps: Deps): void {
  summaryRoute(app, deps)
  dailyUsageRoute(app, deps)
  anomaliesRoute(app, deps)
}

function summaryRoute(app: App, deps: Deps): void {
  app.get(
    '/v1/billing/usage-summary',
    {
      config: { permission: 'readUsage' },
      schema: {
        operationId: 'getUsageSummary',
        summary: 'Summarize the usage of your current organization in the billing period',
        description:
          'The billing period is that of the subscription, or the UTC calendar month without one. Running deployments count up to now.',
        tags: ['Billing'],
        response: { 200: usageSummaryBody },
      },
    },
    async ({ viewer }) => {
      const { organizationId } = viewer
      const period = await getCurrentPeriod(deps, organizationId)
      const account = await ensureAccount(deps.db, deps.config, organizationId, deps.clock())
      return toUsageSummaryBody(await summarizeUsage(deps, organizationId, period), {
        max: account.max_active_resources,
        active: await countActiveDeployments(deps.db, organizationId),
      })
    },
  )
}

function dailyUsageRoute(app: App, deps: Deps): void {
  app.get(
    '/v1/billing/usage',
    {
      config: { permission: 'readUsage' },
      schema: {
        operationId: 'listDailyUsage',
        summary: 'List the daily usage of your current organization',
        description:
          'Days without usage are omitted. Running deployments count up to now. A reversed range or one of more than 92 days ' +
          'is a 422 `invalid_date_range`.',
        tags: ['Billing'],
        querystring: dailyUsageQuery,
        response: { 200: dailyUsageBody },
        errors: ['invalid_date_range'],
      },
    },
    async ({ query, viewer }) => {
      const { start } = await getCurrentPeriod(deps, viewer.organizationId)
      const days = chooseUsageDays(query, start, deps.clock())
      const usage = await listDailyUsage(deps, viewer.organizationId, toMoments(days))
      return { ...days, currency: deps.config.billing.currency, items: usage.map(toDailyUsageItem) }
    },
  )
}

function anomaliesRoute(app: App, deps: Deps): void {
  app.get(
    '/v1/billing/anomalies',
    {
      config: { permission: 'manageBilling' },
      schema: {
        operationId: 'listUsageAnomalies',
        summary: 'List the open usage anomalies of your current organization, newest first',
        tags: ['Billing'],
        response: { 200: usageAnomaliesBody },
      },
    },
    async ({ viewer }) => (await listOpenAnomalies(deps.db, viewer.organizationId)).map(toUsageAnomalyBody),
  )
}
