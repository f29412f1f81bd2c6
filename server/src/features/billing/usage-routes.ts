import { roleCan } from '../../base/roles.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { App } from '../../http/app.ts'
import { sendCsv, wantsCsv } from '../../http/csv.ts'
import { jsonOrCsv } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import { recordAction } from '../audit/record-action.ts'
import { listOpenAnomalies } from '../metering/anomalies.ts'
import { listDailyUsage, listGroupedUsage } from '../metering/grouped-usage.ts'
import type { UsageGrouping } from '../metering/grouped-usage.ts'
import { sumHourlyRates } from '../metering/hourly-rates.ts'
import { summarizeUsage } from '../metering/summary.ts'
import { getCurrentPeriod } from './usage/current-period.ts'
import { countActive, ensureAccount } from './account/store.ts'
import { findLimit } from './limits/deployment-limits.ts'
import { chooseUsageDays, toMoments } from './usage/usage-days.ts'
import type { UsageDays } from './usage/usage-days.ts'
import {
  groupedUsageBody,
  listCsvColumns,
  toDailyUsageBody,
  toGroupedUsageBody,
  toUsageAnomalyBody,
  toUsageSummaryBody,
  usageAnomaliesBody,
  usageQuery,
  usageSummaryBody,
} from './usage-schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'prices'>

/** The usage of an organization by billing period and in groups, and its anomalies. */
export function usageRoutes(app: App, deps: Deps): void {
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
      const [summary, active, perHour] = await Promise.all([
        summarizeUsage(deps, organizationId, period),
        countActive(deps.db, organizationId),
        sumHourlyRates(deps, organizationId),
      ])
      return toUsageSummaryBody(summary, { max: findLimit(account, deps.config), active, perHour })
    },
  )

  app.get(
    '/v1/billing/usage',
    {
      config: { permission: 'readUsage' },
      schema: {
        operationId: 'listUsage',
        summary: 'List the usage of your current organization by day, team, member, deployment or model',
        description:
          'Groups without usage are omitted. Running deployments count up to now. Tokens are usage of the caller. So are the ' +
          'seconds of an instance in proportion to the processing time of each caller’s requests, by the hour; idle time is ' +
          'usage of the owner of the deployment. A person’s usage of a deployment is that of one team: the oldest of theirs with ' +
          'which it is shared, or else their oldest. Calls keep the team that they had when they began, and idle time that of ' +
          'the owner when its hour is settled. Except by day, admins get the usage of everybody, others ' +
          'their own. A reversed range or one of more than 92 days is a 422 ' +
          '`invalid_date_range`. With `Accept: text/csv` the response is a file with the same items and the currency; values ' +
          'that a spreadsheet would read as a formula start with an apostrophe.',
        tags: ['Billing'],
        querystring: usageQuery,
        response: { 200: jsonOrCsv(groupedUsageBody) },
        errors: ['invalid_date_range'],
      },
    },
    async (request, reply) => {
      const { query, viewer } = request
      const { start } = await getCurrentPeriod(deps, viewer.organizationId)
      const days = chooseUsageDays(query, start, deps.clock())
      const head = { ...days, currency: deps.config.billing.currency }
      const body = await readUsage(deps, viewer, head, query.group_by)
      if (!wantsCsv(request)) return body
      const name = `usage-${query.group_by}-${days.from}-${days.to}.csv`
      const target = {
        type: 'organization',
        id: viewer.organizationId,
        name: viewer.organizationName,
      } as const
      const details = { group_by: query.group_by, days: { from: days.from, to: days.to } }
      await recordAction(deps.db, viewer, 'organization.usage_exported', { target, details })
      return sendCsv<(typeof body.items)[number]>(
        reply,
        name,
        listCsvColumns(query.group_by),
        body.items,
        (item) => ({ ...item, dimensions: JSON.stringify(item.dimensions), currency: head.currency }),
      )
    },
  )

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

async function readUsage(
  deps: Deps,
  { organizationId, userId, role }: Viewer,
  head: UsageDays & { currency: string },
  grouping: 'day' | UsageGrouping,
) {
  const days = toMoments(head)
  if (grouping === 'day') return toDailyUsageBody(head, await listDailyUsage(deps, organizationId, days))
  const onlyUserId = roleCan(role, 'manageBilling') ? null : userId
  const rows = await listGroupedUsage(deps, organizationId, days, grouping, onlyUserId)
  return toGroupedUsageBody(head, rows, grouping)
}
