import { z } from 'zod'
import type { App } from '../../http/app.ts'
import { problems, protectedProblems } from '../../http/openapi.ts'
import type { Services } from '../../services.ts'
import type { EngineConnections } from '../inference/engines.ts'
import { getStatistics } from './get.ts'
import { statisticsBody, statisticsQuery, toStatisticsBody } from './schemas.ts'

type Deps = Pick<Services, 'db' | 'clock'> & { engines: EngineConnections }

export function statisticsRoutes(app: App, application: Deps): void {
  app.get(
    '/api/v1/model-deployments/:deployment_id/statistics',
    {
      config: { permission: 'readOwnDeployments' },
      schema: {
        operationId: 'getDeploymentStatistics',
        summary: 'How requests to one of your deployments go',
        description:
          'Of all server processes, up to some seconds ago; `in_flight` alone is of the process that answers, and of this moment. ' +
          'Requests count in the minute in which they end and are kept for two days; those of the last seconds before a ' +
          'server process is killed may be missing here. Nothing is billed by these numbers.',
        tags: ['Deployments'],
        params: z.object({ deployment_id: z.string() }),
        querystring: statisticsQuery,
        response: { 200: statisticsBody, ...protectedProblems, ...problems(404, 422) },
      },
    },
    async ({ params, query, viewer }) =>
      toStatisticsBody(await getStatistics(application, viewer, params.deployment_id, query.window)),
  )
}
