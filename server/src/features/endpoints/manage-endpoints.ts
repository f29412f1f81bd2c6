import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { ApplicationError, NotFoundError, invalidField } from '../../base/errors.ts'
import type { TokenPrices } from '../../base/price.ts'
import type { Viewer } from '../../base/viewer.ts'
import { violatesUnique } from '../../database/connect.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { recordAction } from '../audit/record-action.ts'
import { replaceEndpointModels } from '../catalog/endpoint-models.ts'
import { holdNames } from '../catalog/hold-names.ts'
import { setEndpointPrices } from '../metering/endpoint-prices.ts'
import { holdMembership } from '../organizations/memberships.ts'
import { askEndpoint } from './ask-endpoint.ts'
import type { EndpointFinding } from './ask-endpoint.ts'
import { requireReachable } from './base-url.ts'
import { decryptEndpointKey, encryptEndpointKey } from './endpoint-keys.ts'
import {
  findEndpoint,
  isNameTaken,
  listDeploymentsOn,
  listAliases,
  listEndpointModels,
  lockEndpoint,
  lockEndpoints,
} from './store.ts'
import type { Endpoint } from './store.ts'
import type { EndpointModel } from './tables.ts'

/** How many endpoints an organization may have. */
export const maxEndpoints = 100

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'secretKey'>

/** What an admin says of an endpoint. */
export interface EndpointSettings {
  name: string
  baseUrl: string
  /** null for none */
  key: string | null
  /** The header that has the key; null for `Authorization` */
  header: string | null
  /** null for all that the endpoint lists */
  models: EndpointModel[] | null
  prices: TokenPrices | null
}

/** Undefined members stay. */
export type EndpointChanges = { [Name in keyof EndpointSettings]: EndpointSettings[Name] | undefined }

/** An endpoint after a check. */
export interface CheckedEndpoint {
  endpoint: Endpoint
  finding: EndpointFinding
}

/** The endpoint of the viewer's organization. Throws `not_found`. */
export async function getEndpoint(
  { db }: Pick<Deps, 'db'>,
  { organizationId }: Viewer,
  id: string,
): Promise<Endpoint> {
  return (await findEndpoint(db, organizationId, id)) ?? refuseUnknown()
}

/** Checks an endpoint, and adds it in any case. Throws `endpoint_exists`, `too_many_endpoints`. */
export async function addEndpoint(
  deps: Deps,
  viewer: Viewer,
  settings: EndpointSettings,
): Promise<CheckedEndpoint> {
  const { db, clock, config, secretKey } = deps
  const { organizationId } = viewer
  const { name, baseUrl, key, header, models, prices } = settings
  requireReachable(baseUrl, config.endpoints.networks)
  // No request goes to an endpoint that can't be added.
  if (await isNameTaken(db, organizationId, name)) throw nameTaken()
  const finding = await askEndpoint(deps, settings, models)
  const id = uuidv7()
  const endpoint = await db.transaction().execute(async (transaction) => {
    await holdMembership(transaction, viewer)
    const { count } = await lockEndpoints(transaction, organizationId)
    if (count >= maxEndpoints) throw tooMany()
    await transaction
      .insertInto('endpoints')
      .values({
        id,
        organization_id: organizationId,
        name,
        base_url: baseUrl,
        header,
        key: key === null ? null : encryptEndpointKey(secretKey, id, key),
        chosen_models: toJson(models),
        prices: toJson(prices),
        revision: uuidv7(),
        created_at: clock(),
        ...toStatus(finding, clock(), []),
      })
      .execute()
      .catch(refuseTwin)
    if (prices !== null) await setPrices(deps, transaction, { organizationId, id }, prices)
    await record(transaction, viewer, 'endpoint.created', { id, name }, { ...describeSettings(settings) })
    const added = (await findEndpoint(transaction, organizationId, id))!
    await publishModels(transaction, added)
    return added
  })
  return { endpoint, finding }
}

/**
 * Changes an endpoint; a change of where or how it is reached, or of its models, checks it. A key goes to no
 * other server than the one that it was given for.
 */
export async function changeEndpoint(
  deps: Deps,
  viewer: Viewer,
  id: string,
  changes: EndpointChanges,
): Promise<Endpoint> {
  const { db, config, secretKey } = deps
  const { organizationId } = viewer
  const { name, baseUrl, key, header, models, prices } = changes
  if (baseUrl !== undefined) requireReachable(baseUrl, config.endpoints.networks)
  const isReachedAnew = baseUrl !== undefined || key !== undefined || header !== undefined
  await db.transaction().execute(async (transaction) => {
    await holdMembership(transaction, viewer)
    await lockEndpoints(transaction, organizationId)
    const before = (await findEndpoint(transaction, organizationId, id)) ?? refuseUnknown()
    if (baseUrl !== undefined && key === undefined && before.key !== null) requireSameServer(before, baseUrl)
    await transaction
      .updateTable('endpoints')
      .set({
        ...(name !== undefined && { name }),
        ...(baseUrl !== undefined && { base_url: baseUrl }),
        ...(key !== undefined && { key: key === null ? null : encryptEndpointKey(secretKey, id, key) }),
        ...(header !== undefined && { header }),
        ...(models !== undefined && { chosen_models: toJson(models) }),
        ...(prices !== undefined && { prices: toJson(prices) }),
        ...(isReachedAnew && { revision: uuidv7() }),
      })
      .where('id', '=', id)
      .where('organization_id', '=', organizationId)
      .execute()
      .catch(refuseTwin)
    if (prices !== undefined && !isDeepStrictEqual(prices, before.prices)) {
      await setPrices(deps, transaction, { organizationId, id }, prices)
    }
    await publishModels(transaction, (await findEndpoint(transaction, organizationId, id))!)
    await record(
      transaction,
      viewer,
      'endpoint.updated',
      { id, name: name ?? before.name },
      { ...describeSettings(changes), before: { name: before.name, host: new URL(before.base_url).host } },
    )
  })
  if (isReachedAnew || models !== undefined) await ask(deps, await getEndpoint(deps, viewer, id))
  return getEndpoint(deps, viewer, id)
}

/** Removes an endpoint with its key and its models. Throws `endpoint_in_use` while a deployment uses it. */
export async function removeEndpoint({ db }: Pick<Deps, 'db'>, viewer: Viewer, id: string): Promise<void> {
  const { organizationId } = viewer
  await db.transaction().execute(async (transaction) => {
    await holdMembership(transaction, viewer)
    await lockEndpoints(transaction, organizationId)
    const endpoint = (await lockEndpoint(transaction, organizationId, id)) ?? refuseUnknown()
    const { name } = endpoint
    const deploymentIds = await listDeploymentsOn(transaction, organizationId, id)
    if (deploymentIds.length > 0) {
      const message = `${name} has active deployments. Terminate them first.`
      throw new ApplicationError('endpoint_in_use', message, { facts: { deployment_ids: deploymentIds } })
    }
    await replaceEndpointModels(transaction, organizationId, endpoint, [], [])
    await transaction
      .deleteFrom('endpoints')
      .where('id', '=', id)
      .where('organization_id', '=', organizationId)
      .execute()
    await record(transaction, viewer, 'endpoint.deleted', { id, name })
  })
}

/** Asks an endpoint for its models and one token, and keeps what it found. */
export async function checkEndpoint(deps: Deps, viewer: Viewer, id: string): Promise<CheckedEndpoint> {
  const before = await getEndpoint(deps, viewer, id)
  const finding = await ask(deps, before, async (transaction) => {
    await holdMembership(transaction, viewer)
    await record(transaction, viewer, 'endpoint.checked', { id, name: before.name })
  })
  return { endpoint: await getEndpoint(deps, viewer, id), finding }
}

/** Checks an endpoint. The finding is not stored if the endpoint was changed meanwhile. */
async function ask(
  deps: Deps,
  endpoint: Endpoint,
  alsoDo: (transaction: DatabaseTransaction) => Promise<void> = async () => {},
): Promise<EndpointFinding> {
  const { db, clock, secretKey } = deps
  const { id, revision, base_url: baseUrl, header } = endpoint
  const key = decryptEndpointKey(secretKey, id, endpoint.key)
  const finding = await askEndpoint(deps, { baseUrl, header, key }, endpoint.chosen_models)
  await db.transaction().execute(async (transaction) => {
    await alsoDo(transaction)
    const stored = await transaction
      .updateTable('endpoints')
      .set(toStatus(finding, clock(), endpoint.listed_models))
      .where('id', '=', id)
      .where('revision', '=', revision)
      .returningAll()
      .executeTakeFirst()
    if (stored !== undefined) await publishModels(transaction, stored)
  })
  return finding
}

/** Brings the organization's catalog up to date with an endpoint. */
async function publishModels(transaction: DatabaseTransaction, endpoint: Endpoint): Promise<void> {
  const { organization_id: organizationId } = endpoint
  await holdNames(transaction, organizationId)
  const aliases = await listAliases(transaction, organizationId)
  await replaceEndpointModels(transaction, organizationId, endpoint, listEndpointModels(endpoint), aliases)
}

function setPrices(
  { clock, config }: Deps,
  transaction: DatabaseTransaction,
  { organizationId, id: endpointId }: { organizationId: number; id: string },
  prices: TokenPrices | null,
): Promise<void> {
  const { currency } = config.billing
  return setEndpointPrices(transaction, { organizationId, endpointId }, { prices, currency }, clock())
}

/** The columns of a finding. An endpoint that is away keeps the models that it listed. */
function toStatus({ status, message, listed }: EndpointFinding, at: Date, before: readonly EndpointModel[]) {
  const models = listed ?? (status === 'invalid' ? [] : before)
  return { status, status_message: message, checked_at: at, listed_models: JSON.stringify(models) }
}

function requireSameServer(before: Endpoint, baseUrl: string): void {
  if (new URL(before.base_url).origin === new URL(baseUrl).origin) return
  const message = 'Give the key again: it was for another server.'
  throw invalidField('key', message, 'invalid_value')
}

/** Facts for the audit log, without secrets. */
function describeSettings({ baseUrl, key, header, models, prices }: EndpointChanges) {
  return {
    ...(baseUrl !== undefined && { host: new URL(baseUrl).host }),
    ...(key !== undefined && { key: key === null ? 'none' : 'stored' }),
    ...(header !== undefined && { header }),
    ...(models !== undefined && { models: models?.map(({ name }) => name) ?? 'all' }),
    ...(prices !== undefined && { prices }),
  }
}

type EndpointAction = 'endpoint.created' | 'endpoint.updated' | 'endpoint.deleted' | 'endpoint.checked'

function record(
  transaction: DatabaseTransaction,
  viewer: Viewer,
  action: EndpointAction,
  { id, name }: { id: string; name: string },
  details: Record<string, unknown> = {},
): Promise<void> {
  return recordAction(transaction, viewer, action, { target: { type: 'endpoint', id, name }, details })
}

function toJson(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value)
}

function refuseUnknown(): never {
  throw new NotFoundError('Endpoint not found.')
}

function refuseTwin(error: unknown): never {
  throw violatesUnique(error, 'endpoints_name_key') ? nameTaken() : error
}

function nameTaken(): ApplicationError {
  return new ApplicationError('endpoint_exists', 'Your organization has an endpoint of this name already.')
}

function tooMany(): ApplicationError {
  const message = `Your organization has ${maxEndpoints} endpoints. Delete one first.`
  return new ApplicationError('too_many_endpoints', message)
}
