import type { ModelType } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import type { Person, Viewer } from '../../base/viewer.ts'
import { findCatalogName } from '../catalog/find-variant.ts'
import { parseStoredVariant } from '../catalog/stored-model.ts'
import type { DeploymentStatus } from './lifecycle.ts'
import { judgeAccess } from './judge-access.ts'
import type { DeploymentOwnership } from './judge-access.ts'
import { toAccessError, toOwnership } from './access-deployment.ts'
import { listDeploymentsByName, listRunningDeployments, requeueNow } from './store.ts'
import type { Deployment } from './store.ts'

/** The facts about a deployment that routing a request needs. */
export interface ServingDeployment extends DeploymentOwnership {
  deploymentId: string
  modelName: string
  modelType: ModelType
  modelUid: string
  status: DeploymentStatus
  failureReason: string | null
  createdAt: Date
  /** Base URL of the engine; null while it is not ready */
  engineUrl: string | null
  /** The longest request, in tokens; null before an instance is chosen */
  contextTokens: number | null
  /** Requests that the engine processes at the same time; null before an instance is chosen */
  parallelSequences: number | null
}

/**
 * Resolves the `model` of a request among the viewer's deployments that aren't terminating: the one with this id or
 * `inference_model_uid`, otherwise all with this model name, newest first. A name that none has may be another spelling of one in the
 * catalog, or the catalog's id.
 */
export async function resolveDeployments(
  { db }: Pick<Services, 'db'>,
  viewer: Viewer,
  name: string,
): Promise<ServingDeployment[]> {
  if (name.includes('\0') || !name.isWellFormed()) return []
  const rows = await listDeploymentsByName(db, viewer.userId, name)
  const exact = rows.find((row) => row.id === name) ?? rows.find((row) => row.inference_model_uid === name)
  if (exact !== undefined) return [toServing(exact)]
  if (rows.length > 0) return rows.map(toServing)
  const modelName = await findCatalogName({ db }, name)
  if (modelName === null || modelName === name) return []
  return (await listDeploymentsByName(db, viewer.userId, modelName)).map(toServing)
}

/**
 * Those of the deployments that a person may call now. If there is none, throws the refusal of the first one, and for a deployment that
 * must stay unknown what `toUnknown` returns.
 */
export function requireCallable<Each extends DeploymentOwnership>(
  person: Person,
  deployments: readonly Each[],
  toUnknown: () => Error,
): readonly Each[] {
  const isCallable = (deployment: Each) => judgeAccess({ act: 'call', person, deployment }) === null
  if (deployments.every(isCallable)) return deployments
  const callable = deployments.filter(isCallable)
  if (callable.length > 0) return callable
  const refusal = judgeAccess({ act: 'call', person, deployment: deployments[0]! })!
  throw refusal.code === 'not_found' ? toUnknown() : toAccessError(refusal)
}

/** The viewer's running deployments that they may call now, newest first. */
export async function listServingDeployments(
  { db }: Pick<Services, 'db'>,
  viewer: Viewer,
): Promise<ServingDeployment[]> {
  const rows = await listRunningDeployments(db, viewer.userId)
  const serving = rows.map(toServing)
  return serving.filter((deployment) => judgeAccess({ act: 'call', person: viewer, deployment }) === null)
}

/** Reports that an engine did not answer, so that a worker checks it immediately. */
export function reportUnresponsiveEngine(
  { db }: Pick<Services, 'db'>,
  { deploymentId }: ServingDeployment,
): Promise<void> {
  return requeueNow(db, deploymentId)
}

function toServing(row: Deployment): ServingDeployment {
  return {
    deploymentId: row.id,
    ...toOwnership(row),
    modelName: row.model_name,
    modelType: parseStoredVariant(row).modelType,
    modelUid: row.inference_model_uid,
    status: row.status,
    failureReason: row.failure_reason,
    createdAt: row.created_at,
    engineUrl: row.engine_url,
    contextTokens: row.context_tokens,
    parallelSequences: row.parallel_sequences,
  }
}
