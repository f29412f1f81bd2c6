import { NotFoundError } from '../../base/errors.ts'
import type { App } from '../../http/app.ts'
import { compressJson } from '../../http/compress.ts'
import type { Services } from '../../services.ts'
import type { CatalogModel, CatalogVariant } from './model.ts'
import {
  deployableModelBody,
  deployableModelsBody,
  getModelQuery,
  listModelsQuery,
  modelParams,
  toDeployableModelBody,
} from './schemas.ts'
import { findModelById, listModels } from './store.ts'

const tags = ['Catalog']

type Deps = Pick<Services, 'db' | 'runtimes'> & {
  /** Resolves to a function that finds the default variant of a model on the current hardware */
  readDefaults: () => Promise<(model: CatalogModel) => CatalogVariant>
}

export function catalogRoutes(app: App, { db, runtimes, readDefaults }: Deps): void {
  app.get(
    '/api/v1/deployable-models',
    {
      onSend: compressJson,
      config: { permission: 'readCatalog' },
      schema: {
        operationId: 'listDeployableModels',
        summary: 'List or search deployable models',
        tags,
        querystring: listModelsQuery,
        response: { 200: deployableModelsBody },
      },
    },
    async ({ query, viewer }) => {
      const rows = await listModels(db, viewer.organizationId, {
        enabledOnly: query.enabled_only,
        modelType: query.model_type,
        provider: query.provider,
        query: query.q,
      })
      const findDefault = await readDefaults()
      return {
        items: rows.map((row) => toDeployableModelBody(row, findDefault(row.entry), runtimes.engines)),
      }
    },
  )

  app.get(
    '/api/v1/deployable-models/:model_id',
    {
      config: { permission: 'readCatalog' },
      schema: {
        operationId: 'getDeployableModel',
        summary: 'Get a deployable model',
        tags,
        params: modelParams,
        querystring: getModelQuery,
        response: { 200: deployableModelBody },
        errors: ['not_found'],
      },
    },
    async ({ params, query, viewer }) => {
      const row = await findModelById(db, viewer.organizationId, params.model_id, query.enabled_only)
      if (row === undefined) throw new NotFoundError('Model not found.')
      const findDefault = await readDefaults()
      return toDeployableModelBody(row, findDefault(row.entry), runtimes.engines)
    },
  )
}
