import { validate as isUuid } from 'uuid'
import { ApplicationError, NotFoundError } from '../../../base/errors.ts'
import { findStanding, toRefusalError } from '../../../base/standing.ts'
import { roleCan } from '../../../base/roles.ts'
import type { Services } from '../../../services.ts'
import type { Person, Viewer } from '../../../base/viewer.ts'
import { recordRefusal } from '../../audit/record-action.ts'
import { judgeAccess } from './judge-access.ts'
import type { AccessRefusal, DeploymentAct, DeploymentOwnership } from './judge-access.ts'
import { findDeployment, findDeployments, usesEndpoint } from './store.ts'
import type { Deployment } from './store.ts'

/** The deployment of a request. Scope `own` hides those of colleagues, for admins too. */
export interface DeploymentReference {
  id: string
  scope: (typeof referenceScopes)[number]
}

export const referenceScopes = ['own', 'organization'] as const

/**
 * The referenced deployment, if the viewer may do this with it now. Throws `NotFoundError` for a malformed,
 * unknown or hidden id, otherwise its organization's refusal. Records a refused change.
 */
export async function accessDeployment(
  { db }: Pick<Services, 'db'>,
  viewer: Viewer,
  act: DeploymentAct,
  { id, scope }: DeploymentReference,
): Promise<Deployment> {
  const deployment = isUuid(id) ? await findDeployment(db, id) : undefined
  if (deployment === undefined || (scope === 'own' && deployment.user_id !== viewer.userId))
    throw deploymentNotFound()
  const refusal = judgeAccess({ act, person: viewer, deployment: toOwnership(deployment) })
  if (refusal === null) return deployment
  if (refusal.code !== 'not_found' && (act === 'change' || act === 'terminate')) {
    const target = { type: 'deployment', id, name: deployment.alias ?? deployment.model_name } as const
    await recordRefusal(db, { ...viewer, organizationId: deployment.organization_id }, target)
  }
  throw toAccessError(refusal)
}

/** Those of the deployments that a person may read, and whether they may inspect each. */
export async function findReadable(
  { db }: Pick<Services, 'db'>,
  person: Person,
  ids: readonly string[],
): Promise<(Pick<Deployment, 'id' | 'organization_id'> & { inspect: boolean })[]> {
  const found = await findDeployments(db, ids)
  return found.flatMap((one) => {
    const may = (act: DeploymentAct) => judgeAccess({ act, person, deployment: toOwnership(one) }) === null
    return may('read') ? { ...one, inspect: may('inspect') } : []
  })
}

/** Throws `forbidden`, and records it, for a person who is no admin of the organization of a deployment. */
export async function requireAdmin(
  { db }: Pick<Services, 'db'>,
  viewer: Viewer,
  {
    id,
    organization_id: organizationId,
    alias,
    model_name: modelName,
  }: Pick<Deployment, 'id' | 'organization_id' | 'alias' | 'model_name'>,
): Promise<void> {
  const standing = findStanding(viewer, organizationId)
  if (standing !== undefined && roleCan(standing.role, 'manageDeployments')) return
  await recordRefusal(db, { ...viewer, organizationId }, { type: 'deployment', id, name: alias ?? modelName })
  throw new ApplicationError('forbidden', 'Only admins of the organization may set engine options.')
}

/** Whether a person may still do this with a deployment that they accessed. */
export async function hasAccess(
  { db }: Pick<Services, 'db'>,
  person: Person,
  act: DeploymentAct,
  id: string,
): Promise<boolean> {
  const deployment = await findDeployment(db, id)
  return (
    deployment !== undefined && judgeAccess({ act, person, deployment: toOwnership(deployment) }) === null
  )
}

/** The error that tells a caller about a refusal. */
export function toAccessError(refusal: AccessRefusal): Error {
  return refusal.code === 'not_found' ? deploymentNotFound() : toRefusalError(refusal.code, refusal.standing)
}

/** What `judgeAccess` needs of a row. */
export function toOwnership({
  user_id: ownerId,
  organization_id: organizationId,
  shared_with: sharedWith,
  model_format,
}: Pick<Deployment, 'user_id' | 'organization_id' | 'shared_with' | 'model_format'>): DeploymentOwnership {
  return { ownerId, organizationId, sharedWith, isOutside: usesEndpoint({ model_format }) }
}

function deploymentNotFound(): NotFoundError {
  return new NotFoundError('Deployment not found.')
}
