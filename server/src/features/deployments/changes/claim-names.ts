import { validate as isUuid } from 'uuid'
import { ApplicationError } from '../../../base/errors.ts'
import { roleCan } from '../../../base/roles.ts'
import { findStanding } from '../../../base/standing.ts'
import type { Viewer } from '../../../base/viewer.ts'
import { notify } from '../../../database/notifications.ts'
import type { Database, DatabaseTransaction } from '../../../database/tables.ts'
import { recordAction } from '../../audit/record-action.ts'
import { findCatalogName } from '../../catalog/find-variant.ts'
import { holdNames } from '../../catalog/hold-names.ts'
import { servesLora } from '../../own-models/serves-lora.ts'
import { describeTarget } from '../state/audit-target.ts'
import type { Deployment } from '../state/store.ts'

/** Locks what `claimNames` changes in the order of all writers: names first, then rows by their ids. */
export async function lockNames(
  transaction: DatabaseTransaction,
  { id, alias, adapters, organization_id: organizationId }: Deployment,
): Promise<void> {
  if (alias === null && adapters.length === 0) return
  await holdNames(transaction, organizationId)
  if (alias === null) return
  await transaction
    .selectFrom('deployments')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where((where) =>
      where.or([
        where('id', '=', id),
        where.and([where('alias', '=', alias), where('shared_with', 'is not', null)]),
      ]),
    )
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
}

/**
 * Makes sure that requests by a name of others don't silently reach this deployment, by its alias, nor those
 * for one of its LoRAs another one. Of shared deployments, an alias is one owner's; an admin moves it. Throws
 * `alias_taken`.
 */
export async function claimNames(
  transaction: DatabaseTransaction,
  viewer: Viewer,
  deployment: Deployment,
  at: Date,
): Promise<void> {
  const { alias, adapters, organization_id: organizationId } = deployment
  if (alias === null && adapters.length === 0) return
  await holdNames(transaction, organizationId)
  await requireFreeLoraNames(transaction, deployment)
  if (alias === null) return
  if (await isNameOfOthers(transaction, deployment, alias)) {
    throw aliasTaken(`${alias} is the name of a model, a LoRA or a deployment. Choose another alias.`)
  }
  if (deployment.shared_with === null) return
  const holders = await listHolders(transaction, deployment, alias)
  if (holders.length === 0) return
  const standing = findStanding(viewer, organizationId)
  if (standing === undefined || !roleCan(standing.role, 'manageDeployments')) {
    const message = `A colleague shares a deployment with the alias ${alias}. Choose another one, or ask an admin to move it.`
    throw aliasTaken(message)
  }
  for (const holder of holders) await takeAlias(transaction, viewer, holder, at)
}

/** Throws `alias_taken` if a name of one of the deployment's LoRAs is an alias. */
async function requireFreeLoraNames(
  db: Database,
  { alias, adapters, model_name: modelName, organization_id: organizationId }: Deployment,
): Promise<void> {
  const bases = [modelName, ...(alias === null ? [] : [alias])]
  const names = adapters.flatMap((lora) => [
    lora.modelName,
    ...bases.map((base) => `${base}:${lora.modelName}`),
  ])
  if (names.length === 0) return
  const taken = await selectActive(db, organizationId).where('alias', 'in', names).executeTakeFirst()
  if (taken === undefined) return
  const message = `A deployment of ${taken.model_name} has the alias ${taken.alias}. Requests for a LoRA of this name would reach it.`
  throw aliasTaken(message)
}

function selectActive(db: Database, organizationId: number) {
  return db
    .selectFrom('deployments')
    .select(['alias', 'model_name'])
    .where('organization_id', '=', organizationId)
    .where('status', 'not in', ['failed', 'terminating', 'terminated'])
}

/** True for what names a model, LoRA or deployment that this one isn't, also a deployment that has ended. */
async function isNameOfOthers(
  db: Database,
  { organization_id: organizationId, model_name: modelName }: Deployment,
  alias: string,
): Promise<boolean> {
  if (isUuid(alias.replace(/^dep-/i, ''))) return true
  const catalogName = await findCatalogName({ db }, organizationId, alias)
  if (catalogName !== null && catalogName !== modelName) return true
  const served = await selectActive(db, organizationId).where(servesLora(alias)).executeTakeFirst()
  if (served !== undefined) return true
  const colon = alias.lastIndexOf(':')
  return colon > 0 && isLoraName(db, organizationId, alias.slice(0, colon), alias.slice(colon + 1))
}

/** True if a deployment of the organization serves, or served, this LoRA of what `base` names. */
async function isLoraName(
  db: Database,
  organizationId: number,
  base: string,
  loraName: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('deployments')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where(servesLora(loraName))
    .where((where) => where.or([where('model_name', '=', base), where('alias', '=', base)]))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** The shared deployments of other owners with the alias. */
function listHolders(
  db: Database,
  { user_id: ownerId, organization_id: organizationId }: Deployment,
  alias: string,
): Promise<Deployment[]> {
  return db
    .selectFrom('deployments')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('user_id', '<>', ownerId)
    .where('shared_with', 'is not', null)
    .where('alias', '=', alias)
    .where('status', 'not in', ['terminating', 'terminated'])
    .orderBy('id')
    .execute()
}

async function takeAlias(
  transaction: DatabaseTransaction,
  viewer: Viewer,
  holder: Deployment,
  at: Date,
): Promise<void> {
  const { id: deployment_id, alias, status, organization_id: organizationId } = holder
  await transaction
    .updateTable('deployments')
    .set({ alias: null, alias_order: null, updated_at: at })
    .where('id', '=', deployment_id)
    .execute()
  const change = { user_id: viewer.userId, before: { alias }, after: { alias: null } }
  const message = `${viewer.name} moved the alias ${alias} to another deployment.`
  await transaction
    .insertInto('deployment_events')
    .values({ deployment_id, at, status, stage: null, message, change: JSON.stringify(change) })
    .execute()
  await notify(transaction, 'deployment_event', deployment_id)
  const { target, details } = await describeTarget(transaction, viewer, holder)
  await recordAction(transaction, viewer, 'deployment.updated', {
    organizationId,
    target,
    details: { ...details, alias: null, before: { alias } },
  })
}

function aliasTaken(message: string): ApplicationError {
  return new ApplicationError('alias_taken', message)
}
