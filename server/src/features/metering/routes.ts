import { z } from 'zod'
import type { App } from '../../http/app.ts'
import { problems, protectedProblems } from '../../http/openapi.ts'
import type { Services } from '../../services.ts'
import { getCurrentPeriod } from '../billing/current-period.ts'
import { listOpenAnomalies } from './anomaly-store.ts'
import { listDailyUsage } from './daily-usage.ts'
import { getDeploymentUsage } from './deployment-usage.ts'
import type { Price } from './prices.ts'
import {
  dailyUsageBody,
  dailyUsageQuery,
  deploymentUsageBody,
  toDailyUsageItem,
  toDeploymentUsageBody,
  toUsageAnomalyBody,
  toUsageSummaryBody,
  usageAnomaliesBody,
  usageSummaryBody,
} from './schemas.ts'
import { summarizeUsage } from './summary.ts'
import { chooseUsageDays, toMoments } from './usage-days.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config'> & { prices: readonly Price[] }

/** What deployments and organizations used, and what is wrong with it. */
export function meteringRoutes(app: App, application: Deps): void {
  app.get(
    '/api/v1/model-deployments/:deployment_id/usage',
    {
      config: { permission: 'readOwnDeployments' },
      schema: {
        operationId: 'getDeploymentUsage',
        summary: 'What one of your deployments has used so far',
        tags: ['Deployments'],
        params: z.object({ deployment_id: z.string() }),
        response: { 200: deploymentUsageBody, ...protectedProblems, ...problems(404) },
      },
    },
    async ({ params, viewer }) =>
      toDeploymentUsageBody(await getDeploymentUsage(application, viewer, params.deployment_id)),
  )

  app.get(
    '/v1/billing/usage-summary',
    {
      config: { permission: 'readUsage' },
      schema: {
        operationId: 'getUsageSummary',
        summary: 'What your current organization has used in this billing period',
        description:
          'The period is that of the subscription, and the calendar month in UTC without one. What runs is counted up to now.',
        tags: ['Billing'],
        response: { 200: usageSummaryBody, ...protectedProblems },
      },
    },
    async ({ viewer }) => {
      const { start, end } = await getCurrentPeriod(application, viewer.organizationId)
      return toUsageSummaryBody(await summarizeUsage(application, viewer.organizationId, start, end))
    },
  )

  app.get(
    '/v1/billing/usage',
    {
      config: { permission: 'readUsage' },
      schema: {
        operationId: 'listDailyUsage',
        summary: 'What your current organization has used, day by day',
        description:
          'Days without usage have no item; what runs is counted up to now. More than 92 days, or a first day after the last, ' +
          'is a 422 `invalid_date_range`.',
        tags: ['Billing'],
        querystring: dailyUsageQuery,
        response: { 200: dailyUsageBody, ...protectedProblems, ...problems(422) },
      },
    },
    async ({ query, viewer }) => {
      const { start } = await getCurrentPeriod(application, viewer.organizationId)
      const days = chooseUsageDays(query, start, application.clock())
      const usage = await listDailyUsage(application, viewer.organizationId, toMoments(days))
      return { ...days, currency: application.config.billing.currency, items: usage.map(toDailyUsageItem) }
    },
  )

  app.get(
    '/v1/billing/anomalies',
    {
      config: { permission: 'manageBilling' },
      schema: {
        operationId: 'listUsageAnomalies',
        summary:
          'What the checks of your current organization’s usage found and still find, the newest first',
        tags: ['Billing'],
        response: { 200: usageAnomaliesBody, ...protectedProblems },
      },
    },
    async ({ viewer }) =>
      (await listOpenAnomalies(application.db, viewer.organizationId)).map(toUsageAnomalyBody),
  )
}
