import { ApplicationError } from '../../base/errors.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { Database } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { recordAction } from '../audit/record-action.ts'
import {
  changeOwnModel,
  findOwnModel,
  removeOwnModel,
  requireFreeName,
} from '../catalog/own-model-changes.ts'
import type { ModelChanges, StoredModel } from '../catalog/own-model-changes.ts'
import { holdMembership } from '../organizations/memberships.ts'
import { addModel } from './add-model.ts'
import { buildModel, defaultModelName } from './build-model.ts'
import { findHubToken, storeHubToken } from './hub-tokens.ts'
import type { InspectDeps, RepositoryRequest } from './inspect.ts'
import { servesLora } from './serves-lora.ts'
import { forgetUploads, removeFiles } from './uploads/remove-upload.ts'

/** Adds a repository's model to the organization and keeps the request's token. Weights stay on the Hub. */
export async function importModel(
  deps: InspectDeps,
  viewer: Viewer,
  request: RepositoryRequest & { modelName: string | undefined; managedBy: string | null },
): Promise<StoredModel> {
  const { db, secretKey } = deps
  const { organizationId } = viewer
  const modelName = request.modelName ?? defaultModelName(request.name)
  await requireFreeName(db, organizationId, modelName)
  const token = request.token ?? (await findHubToken(deps, organizationId))
  const model = await buildModel(deps, organizationId, { ...request, token, modelName })
  return db.transaction().execute(async (transaction) => {
    await holdMembership(transaction, viewer)
    if (request.token !== undefined) {
      await storeHubToken(transaction, secretKey, organizationId, request.token)
    }
    await recordAction(transaction, viewer, 'model.imported', {
      target: { type: 'model', id: model.id, name: modelName },
      details: { ...model.source, token: request.token === undefined ? 'unchanged' : 'stored' },
    })
    return addModel(transaction, organizationId, model, request.managedBy)
  })
}

/** Changes how a model of the viewer's organization is presented, and whether it can be deployed. */
export async function changeModel(
  { db }: Pick<Services, 'db'>,
  viewer: Viewer,
  id: string,
  changes: ModelChanges,
): Promise<StoredModel> {
  return db.transaction().execute(async (transaction) => {
    await holdMembership(transaction, viewer)
    const { model, before } = await changeOwnModel(transaction, viewer.organizationId, id, changes)
    await recordAction(transaction, viewer, 'model.updated', {
      target: { type: 'model', id, name: model.model_name },
      details: { ...changes, before },
    })
    return model
  })
}

/** Removes a model with its file. Throws `model_in_use` while a deployment uses it, and `endpoint_model`. */
export async function removeModel(
  deps: Pick<Services, 'db' | 'config' | 'modelStore'>,
  viewer: Viewer,
  id: string,
): Promise<void> {
  const { organizationId } = viewer
  const uploads = await deps.db.transaction().execute(async (transaction) => {
    await holdMembership(transaction, viewer)
    const { model_name: name, entry } = await findOwnModel(transaction, organizationId, id)
    if (entry.source.kind === 'endpoint') {
      const message = `${name} is a model of the endpoint ${entry.provider}. Disable it, or choose other models of the endpoint.`
      throw new ApplicationError('endpoint_model', message)
    }
    const deploymentIds = await listDeploymentsOf(transaction, organizationId, name)
    if (deploymentIds.length > 0) {
      const message = `${name} has active deployments. Terminate them first, or disable the model so that nobody deploys it again.`
      throw new ApplicationError('model_in_use', message, { facts: { deployment_ids: deploymentIds } })
    }
    const forgotten = await forgetUploads(transaction, id)
    await removeOwnModel(transaction, organizationId, id)
    await recordAction(transaction, viewer, 'model.deleted', { target: { type: 'model', id, name } })
    return forgotten
  })
  await removeFiles(deps, uploads)
}

async function listDeploymentsOf(db: Database, organizationId: number, modelName: string): Promise<string[]> {
  const rows = await db
    .selectFrom('deployments')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where((where) => where.or([where('model_name', '=', modelName), servesLora(modelName)]))
    .where('status', 'not in', ['failed', 'terminated'])
    .orderBy('created_at')
    .execute()
  return rows.map(({ id }) => id)
}
