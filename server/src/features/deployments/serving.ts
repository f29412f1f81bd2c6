import type { Services } from '../../services.ts'
import type { Viewer } from '../../viewer.ts'
import type { DeploymentStatus } from './lifecycle.ts'
import { hurryDeployment, listNamedDeployments, listRunningDeployments } from './store.ts'
import type { Deployment } from './store.ts'

/** A deployment as the inference routes see it. */
export interface ServingDeployment {
  deploymentId: string
  organizationId: number
  modelName: string
  modelUid: string
  status: DeploymentStatus
  failureReason: string | null
  createdAt: Date
  /** Where its engine answers; null while none does */
  engineUrl: string | null
}

/**
 * The viewer's deployments that `name` means and that serve, may serve soon or have failed: the one with that id or engine's
 * uid, else all of a model's name, newest first.
 */
export async function listCandidates(
  { db }: Pick<Services, 'db'>,
  viewer: Viewer,
  name: string,
): Promise<ServingDeployment[]> {
  if (name.includes('\0') || !name.isWellFormed()) return []
  const rows = await listNamedDeployments(db, viewer.userId, name)
  const one = rows.find((row) => row.id === name) ?? rows.find((row) => row.inference_model_uid === name)
  return (one === undefined ? rows : [one]).map(toServing)
}

/** All of the viewer's running deployments, newest first. */
export async function listServing(
  { db }: Pick<Services, 'db'>,
  viewer: Viewer,
): Promise<ServingDeployment[]> {
  const rows = await listRunningDeployments(db, viewer.userId)
  return rows.map(toServing)
}

/** Says that a deployment's engine did not answer, so that a worker looks at it now. */
export function reportSilentEngine(
  { db }: Pick<Services, 'db'>,
  { deploymentId }: ServingDeployment,
): Promise<void> {
  return hurryDeployment(db, deploymentId)
}

function toServing(row: Deployment): ServingDeployment {
  return {
    deploymentId: row.id,
    organizationId: row.organization_id,
    modelName: row.model_name,
    modelUid: row.inference_model_uid,
    status: row.status,
    failureReason: row.failure_reason,
    createdAt: row.created_at,
    engineUrl: row.engine_url,
  }
}
