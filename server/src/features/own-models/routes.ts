import type { App } from '../../http/app.ts'
import { noContent } from '../../http/openapi/responses.ts'
import { deployableModelBody, modelParams, toDeployableModelBody } from '../catalog/schemas.ts'
import type { StoredModel } from '../catalog/own-model-changes.ts'
import { readDefaults } from '../placement/plan.ts'
import { inspectRepository } from './inspect.ts'
import type { InspectDeps } from './inspect.ts'
import { limitReads } from './limit-reads.ts'
import { changeModel, importModel, removeModel } from './manage-models.ts'
import {
  updateModelBody,
  importModelBody,
  inspectionBody,
  inspectModelBody,
  toInspectionBody,
  toSource,
} from './schemas.ts'
import { addUploadedModel, inspectUpload } from './uploads/use-upload.ts'

const tags = ['Catalog']
const prefix = '/api/v1/deployable-models'
const manage = { permission: 'manageModels' } as const
const hubErrors = [
  'repository_not_found',
  'repository_gated',
  'no_runnable_weights',
  'hub_unreachable',
  'server_busy',
] as const

const uploadErrors = [
  'uploads_disabled',
  'not_found',
  'upload_incomplete',
  'upload_elsewhere',
  'upload_locked',
  'model_store_unavailable',
  'not_gguf',
  'unsupported_architecture',
  'checksum_mismatch',
] as const

/** The models of an organization: inspection of a repository, import, update and deletion. */
export function ownModelRoutes(app: App, deps: InspectDeps): void {
  const runRead = limitReads()

  app.post(
    `${prefix}/inspect`,
    {
      config: { permission: 'createDeployments' },
      schema: {
        operationId: 'inspectDeployableModel',
        summary: 'Show what an import of a repository or an upload would give',
        description:
          'Reads descriptions and headers of files, no weights, and stores nothing. A variant that can not run has a reason. ' +
          'For admins it reads with the token of the organization.',
        tags,
        body: inspectModelBody,
        response: { 200: inspectionBody },
        errors: [...hubErrors, ...uploadErrors, 'runtime_unavailable'],
      },
    },
    async ({ body, viewer }) => {
      const { organizationId } = viewer
      const source = toSource(body)
      const inspection = await runRead(organizationId, () =>
        'uploadId' in source
          ? inspectUpload(deps, organizationId, source)
          : inspectRepository(deps, viewer, source.repository),
      )
      return toInspectionBody(inspection, deps.config.billing.currency)
    },
  )

  app.post(
    prefix,
    {
      config: { ...manage, creates: 'by unique name' },
      schema: {
        operationId: 'importDeployableModel',
        summary: 'Add the model of a repository or an upload to the catalog of your organization',
        description:
          'The model of a repository stays at the commit that was read. Its weights are downloaded when a deployment needs them. Only ' +
          'members of your organization see the model.',
        tags,
        body: importModelBody,
        response: { 201: deployableModelBody },
        errors: ['model_name_taken', 'base_model_not_found', ...hubErrors, ...uploadErrors],
      },
    },
    async ({ body, viewer }, reply) => {
      const source = toSource(body)
      const { model_name: modelName, managed_by: managedBy = null } = body
      const model = await runRead(viewer.organizationId, () =>
        'uploadId' in source
          ? addUploadedModel(deps, viewer, { ...source, modelName, managedBy })
          : importModel(deps, viewer, { ...source.repository, modelName, managedBy }),
      )
      return reply.code(201).send(await present(deps, model))
    },
  )

  app.patch(
    `${prefix}/:model_id`,
    {
      config: manage,
      schema: {
        operationId: 'updateDeployableModel',
        summary: 'Update a model of your organization',
        tags,
        params: modelParams,
        body: updateModelBody,
        response: { 200: deployableModelBody },
        errors: ['not_found', 'catalog_model'],
      },
    },
    async ({ body, params, viewer }) => {
      const { display_name: displayName, sort_order: sortOrder, ...same } = body
      const model = await changeModel(deps, viewer, params.model_id, { displayName, sortOrder, ...same })
      return present(deps, model)
    },
  )

  app.delete(
    `${prefix}/:model_id`,
    {
      config: manage,
      schema: {
        operationId: 'deleteDeployableModel',
        summary: 'Delete a model of your organization',
        tags,
        params: modelParams,
        response: { 204: noContent },
        errors: ['not_found', 'catalog_model', 'endpoint_model', 'model_in_use'],
      },
    },
    async ({ params, viewer }, reply) => {
      await removeModel(deps, viewer, params.model_id)
      return reply.code(204).send(null)
    },
  )
}

async function present(deps: InspectDeps, model: StoredModel) {
  const findDefault = await readDefaults(deps)
  return toDeployableModelBody(model, findDefault(model.entry), deps.runtimes.engines)
}
