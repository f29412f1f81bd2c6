import type { App } from '../../http/app.ts'
import { deploymentParams, toReference } from '../deployments/schemas.ts'
import { getStatistics } from './get-statistics.ts'
import type { StatisticsDeps } from './get-statistics.ts'
import { summarizeDeployments } from './summarize-deployments.ts'
import { deploymentUsesBody, toDeploymentUseBody, useQuery } from './use-schemas.ts'
import { statisticsBody, statisticsQuery, toStatisticsBody } from './schemas.ts'

export function statisticsRoutes(app: App, deps: StatisticsDeps): void {
  app.get(
    '/api/v1/model-deployments/summary',
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'summarizeDeployments',
        summary: 'Summarize the use of deployments',
        description:
          'The requests of the last 24 whole hours, a few seconds behind, and the cost of this month, for a page of a list.',
        tags: ['Deployments'],
        querystring: useQuery,
        response: { 200: deploymentUsesBody },
      },
    },
    async ({ query, viewer }) => {
      const uses = await summarizeDeployments(deps, viewer, query.ids)
      const { currency } = deps.config.billing
      return { items: uses.map((use) => toDeploymentUseBody(use, currency)) }
    },
  )

  app.get(
    '/api/v1/model-deployments/:deployment_id/statistics',
    {
      config: { permission: 'readOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'getDeploymentStatistics',
        summary: 'Get request statistics of a deployment',
        description:
          'Covers all server processes and lags a few seconds behind. Only `in_flight` is current, and counts the process that ' +
          'answers. A request counts in the minute in which it ends. Windows up to `24h` read minutes, which are kept for two days; ' +
          'longer ones read hours, which are kept for STATISTICS_RETENTION. If a server process is killed, its last seconds are missing. Billing does not use these numbers.',
        tags: ['Deployments'],
        params: deploymentParams,
        querystring: statisticsQuery,
        response: { 200: statisticsBody },
        errors: ['not_found'],
      },
    },
    async ({ params, query, viewer }) =>
      toStatisticsBody(await getStatistics(deps, viewer, toReference(params, query), query.window)),
  )
}
