import type { Application } from '../../application.ts'
import type { Viewer } from '../../viewer.ts'
import { deriveEngineKey } from './engine-spec.ts'
import type { DeploymentStatus } from './lifecycle.ts'
import { listNamedDeployments } from './store.ts'

/** A deployment as the inference routes see it. */
export interface Candidate {
  deploymentId: string
  organizationId: number
  modelName: string
  modelUid: string
  status: DeploymentStatus
  failureReason: string | null
  /** Where its engine answers; null while none does */
  engineUrl: string | null
}

/** The viewer's deployments that `name` means and that may serve or have failed: the one with that id or uid, else all of a model's name, newest first. */
export async function listCandidates(
  { db }: Pick<Application, 'db'>,
  viewer: Viewer,
  name: string,
): Promise<Candidate[]> {
  if (name.includes('\0') || !name.isWellFormed()) return []
  const rows = await listNamedDeployments(db, viewer.userId, name)
  const one = rows.find((row) => row.id === name) ?? rows.find((row) => row.inference_model_uid === name)
  return (one === undefined ? rows : [one]).map(
    (row) => ({
      deploymentId: row.id,
      organizationId: row.organization_id,
      modelName: row.model_name,
      modelUid: row.inference_model_uid,
      status: row.status,
      failureReason: row.failure_reason,
      engineUrl: row.engine_url,
    }),
  )
}
