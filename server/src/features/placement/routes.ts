import type { App } from '../../http/app.ts'
import { compressJson } from '../../http/compress.ts'
import type { Services } from '../../services.ts'
import { listPlacements } from './plan.ts'
import { placementsBody, toPlacementBody } from './schemas.ts'

export function placementRoutes(
  app: App,
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'runtimes' | 'prices'>,
): void {
  app.get(
    '/api/v1/placements',
    {
      onSend: compressJson,
      config: { permission: 'readCatalog' },
      schema: {
        operationId: 'listPlacements',
        summary: 'Preview the instance type and price of every catalog variant',
        description: 'In catalog order. Each item matches the current deployment plan of its variant.',
        tags: ['Deployments'],
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
