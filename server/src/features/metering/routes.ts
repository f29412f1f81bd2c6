import { z } from 'zod'
import type { Application } from '../../application.ts'
import type { App } from '../../http/app.ts'
import { problems, protectedProblems } from '../../http/openapi.ts'
import { getDeploymentUsage } from './deployment-usage.ts'
import { deploymentUsageBody, toDeploymentUsageBody } from './schemas.ts'

export function meteringRoutes(app: App, application: Application): void {
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
}
