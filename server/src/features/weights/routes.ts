import type { App } from '../../http/app.ts'
import type { Services } from '../../services.ts'
import { listVariantWeights } from './list-weights.ts'
import { toWeightsItem, weightsBody } from './schemas.ts'

/** The weights that a deployment would not have to download. */
export function weightRoutes(app: App, deps: Pick<Services, 'db' | 'runtimes'>): void {
  app.get(
    '/api/v1/weights',
    {
      config: { permission: 'readCatalog' },
      schema: {
        operationId: 'listWeights',
        summary: 'List the cached weights of the models that you see',
        description:
          'Empty where the compute backend keeps weights on its own machines. A deployment of these variants starts without a download.',
        tags: ['Catalog'],
        response: { 200: weightsBody },
      },
    },
    async ({ viewer }) => ({
      items: (await listVariantWeights(deps, viewer.organizationId)).map(toWeightsItem),
    }),
  )
}
