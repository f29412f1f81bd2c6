import type { App } from '../../http/app.ts'
import { compressJson } from '../../http/compress.ts'
import type { Services } from '../../services.ts'
import { listPlacements, planDeployment } from './plan.ts'
import {
  createDeploymentBody,
  placementsBody,
  planBody,
  toMinimums,
  toPlacementBody,
  toPlanBody,
  toVariantChoice,
} from './schemas.ts'

const tags = ['Deployments']

/** The routes that preview instances and prices, and create nothing. */
export function placementRoutes(
  app: App,
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'runtime' | 'prices'>,
): void {
  app.post(
    '/api/v1/model-deployments/plan',
    {
      config: { permission: 'readCatalog' },
      schema: {
        operationId: 'planDeployment',
        summary: 'Preview the instance type and price of a deployment',
        description:
          'Takes the same body as creating a deployment, and minimums, but creates nothing. Returns 200 with `feasible: false` if ' +
          'no instance type can run the model. Billing conditions are not checked.',
        tags,
        body: createDeploymentBody,
        response: { 200: planBody },
        errors: ['model_not_deployable', 'runtime_unavailable'],
      },
    },
    async ({ body, viewer }) => {
      const plan = await planDeployment(deps, viewer.organizationId, toVariantChoice(body), toMinimums(body))
      return toPlanBody(plan, deps.config.billing.currency)
    },
  )

  app.get(
    '/api/v1/placements',
    {
      onSend: compressJson,
      config: { permission: 'readCatalog' },
      schema: {
        operationId: 'listPlacements',
        summary: 'Preview the instance type and price of every catalog variant',
        description: 'In catalog order. Each item matches the current deployment plan of its variant.',
        tags,
        response: { 200: placementsBody },
        errors: ['runtime_unavailable'],
      },
    },
    async ({ viewer }) => ({
      currency: deps.config.billing.currency,
      items: (await listPlacements(deps, viewer.organizationId)).map(toPlacementBody),
    }),
  )
}
