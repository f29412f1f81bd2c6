import { v7 as uuidv7 } from 'uuid'
import { ApplicationError } from '../../base/errors.ts'
import { nameFormat } from '../../base/format-names.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { Database } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { recordAction } from '../audit/record-action.ts'
import {
  addOwnModel,
  changeOwnModel,
  findOwnModel,
  removeOwnModel,
  requireFreeName,
} from '../catalog/own-model-changes.ts'
import type { ModelChanges, StoredModel } from '../catalog/own-model-changes.ts'
import { holdMembership } from '../organizations/memberships.ts'
import { storeHubToken } from './hub-tokens.ts'
import { findObstacle, readContents } from './inspect.ts'
import type { InspectDeps, RepositoryRequest } from './inspect.ts'
import { toOwnModel } from './to-model.ts'

/** Adds the model of a repository to the viewer's organization, and keeps the token of the request. Its weights stay on the Hub. */
export async function importModel(
  deps: InspectDeps,
  viewer: Viewer,
  request: RepositoryRequest & { modelName: string | undefined },
): Promise<StoredModel> {
  const { db, runtime, secretKey } = deps
  const { organizationId } = viewer
  const modelName = request.modelName ?? request.name.split('/')[1]!.toLowerCase()
  await requireFreeName(db, organizationId, modelName)
  const { repository, variants } = await readContents(deps, organizationId, request)
  const obstacles = variants.map((variant) => ({ variant, obstacle: findObstacle(variant, runtime.engines) }))
  const loadable = obstacles.flatMap(({ variant, obstacle }) => (obstacle === null ? [variant] : []))
  if (loadable.length === 0) throw toNoWeights(repository.name, obstacles)
  const model = toOwnModel(uuidv7(), modelName, repository, loadable, runtime.engines)
  return db.transaction().execute(async (transaction) => {
    await holdMembership(transaction, viewer)
    if (request.token !== undefined) {
      await storeHubToken(transaction, secretKey, organizationId, request.token)
    }
    await recordAction(transaction, viewer, 'model.imported', {
      target: { type: 'model', id: model.id, name: modelName },
      details: {
        repository: repository.name,
        commit: repository.commit,
        token: request.token === undefined ? 'unchanged' : 'stored',
      },
    })
    return addOwnModel(transaction, organizationId, model)
  })
}

function toNoWeights(
  name: string,
  obstacles: readonly { variant: { format: string; quantization: string }; obstacle: string | null }[],
): ApplicationError {
  const reasons = [
    ...new Set(obstacles.map(({ variant, obstacle }) => `${nameFormat(variant.format)}: ${obstacle}.`)),
  ].slice(0, 10)
  const why = reasons.length === 0 ? 'It has no weights.' : reasons.join(' ')
  const message = `${name} has no weights that an engine of this server loads. ${why}`
  return new ApplicationError('no_runnable_weights', message, { facts: { reasons } })
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
    const model = await changeOwnModel(transaction, viewer.organizationId, id, changes)
    await recordAction(transaction, viewer, 'model.changed', {
      target: { type: 'model', id, name: model.model_name },
      details: { ...changes },
    })
    return model
  })
}

/** Removes a model from the viewer's organization. Throws `model_in_use` while a deployment uses it. */
export async function removeModel({ db }: Pick<Services, 'db'>, viewer: Viewer, id: string): Promise<void> {
  const { organizationId } = viewer
  await db.transaction().execute(async (transaction) => {
    await holdMembership(transaction, viewer)
    const { model_name: name } = await findOwnModel(transaction, organizationId, id)
    const deploymentIds = await listActiveDeployments(transaction, organizationId, name)
    if (deploymentIds.length > 0) {
      const message = `${name} has active deployments. Terminate them first, or disable the model so that nobody deploys it again.`
      throw new ApplicationError('model_in_use', message, { facts: { deployment_ids: deploymentIds } })
    }
    await removeOwnModel(transaction, organizationId, id)
    await recordAction(transaction, viewer, 'model.removed', { target: { type: 'model', id, name } })
  })
}

async function listActiveDeployments(
  db: Database,
  organizationId: number,
  modelName: string,
): Promise<string[]> {
  const rows = await db
    .selectFrom('deployments')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('model_name', '=', modelName)
    .where('status', 'not in', ['failed', 'terminated'])
    .orderBy('created_at')
    .execute()
  return rows.map(({ id }) => id)
}
