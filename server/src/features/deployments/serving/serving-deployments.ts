import type { Database } from '../../../database/tables.ts'
import type { EngineProfiles, ModelLora, ModelType } from '../../../ports/model-variant.ts'
import type { Services } from '../../../services.ts'
import type { Person, Viewer } from '../../../base/viewer.ts'
import { findCatalogName } from '../../catalog/find-variant.ts'
import { parseStoredVariant } from '../../catalog/stored-model.ts'
import { groupByFile } from '../../placement/loaded-loras.ts'
import { listShownInstances } from '../state/instance-store.ts'
import type { Instance } from '../state/instance-store.ts'
import { isActive } from '../state/lifecycle.ts'
import type { DeploymentStatus } from '../state/lifecycle.ts'
import { isRecovering } from '../state/recovery.ts'
import type { Recovery } from '../state/recovery.ts'
import { hasLora } from '../state/resize.ts'
import { judgeAccess } from '../state/judge-access.ts'
import type { AccessRefusal, DeploymentOwnership } from '../state/judge-access.ts'
import { personsOf } from './asker.ts'
import type { Asker } from './asker.ts'
import { toSharee } from '../state/shared-with.ts'
import { toAccessError, toOwnership } from '../state/access-deployment.ts'
import { existsUnshared, listDeploymentsByName, listCallableDeployments } from '../state/store.ts'
import type { Deployment, ServingScope } from '../state/store.ts'
import type { CacheScope } from '../state/tables.ts'

/** The facts about a deployment that routing a request needs. */
export interface ServingDeployment extends DeploymentOwnership {
  deploymentId: string
  /** The model that answers: that of the deployment, or the LoRA that the request names */
  modelName: string
  /** Id of the LoRA that the request names; null for none */
  loraId: string | null
  /** The model of the deployment */
  baseModelName: string
  /** A further name for requests; null for none */
  alias: string | null
  /** Its place in the order of the request's alias; null without an order. */
  aliasOrder: number | null
  modelType: ModelType
  /** Format of the weights */
  format: string
  /** What engines must know to run the model */
  engineProfiles: EngineProfiles
  modelUid: string
  status: DeploymentStatus
  failureReason: string | null
  /** It has been running, so clients know it, and it is never `failed`. */
  hasServed: boolean
  /** Whose requests share cached prompts */
  cacheScope: CacheScope
  /** Whether a request wakes it, or waits until it is awake */
  isWaking: boolean
  /** Why it does not serve, and when it is started again; null without an outage */
  recovery: Recovery | null
  createdAt: Date
  /** Tokens of the longest request of its oldest instance, also while asleep; null before one is chosen */
  contextTokens: number | null
  /** Those whose engine is ready and has the LoRA, oldest first */
  instances: readonly ServingInstance[]
}

/** The facts about an instance that routing a request needs. */
export interface ServingInstance {
  instanceId: string
  /** The name of the runtime that runs the engine */
  runtime: string | null
  /** Base URL of the engine */
  engineUrl: string
  /** The engine's name of the model */
  servedModelName: string
  /** The longest request, in tokens; null if it is unknown */
  contextTokens: number | null
  /** Requests that the engine processes at the same time; null if it is unknown */
  parallelSequences: number | null
  /** Ids of the LoRAs of the engine, in its order: those with one file are one LoRA, named by the first id */
  engineLoras: readonly (readonly string[])[]
}

/**
 * Resolves the `model` of a request among the viewer's deployments that aren't terminating, then among those
 * shared with the viewer's current organization: the one with this id or `inference_model_uid`, otherwise all
 * with this alias, otherwise all with this model name or a LoRA of this name, newest first, otherwise for
 * `base:adapter` those that `base` names and that have the LoRA. An unknown name may be another spelling of
 * one in the catalog, or the catalog's id.
 */
export async function resolveDeployments(
  { db }: Pick<Services, 'db'>,
  viewer: Viewer,
  name: string,
): Promise<ServingDeployment[]> {
  if (name.includes('\0') || !name.isWellFormed()) return []
  const catalogName = lazily(() => findCatalogName({ db }, viewer.organizationId, name))
  const colon = name.lastIndexOf(':')
  for (const scope of servingScopes(viewer)) {
    const named = await resolveName(db, scope, name)
    if (named.length > 0) return named
    if (colon > 0) {
      const adapted = await resolveLora(db, scope, name.slice(0, colon), name.slice(colon + 1))
      if (adapted.length > 0) return adapted
    }
    const modelName = await catalogName()
    if (modelName === null || modelName === name) continue
    const spelled = await resolveName(db, scope, modelName)
    if (spelled.length > 0) return spelled
  }
  return []
}

/** Whether a colleague could share a deployment that the name of a model means. */
export async function couldBeShared(
  { db }: Pick<Services, 'db'>,
  viewer: Viewer,
  name: string,
): Promise<boolean> {
  return !name.includes('\0') && name.isWellFormed() && existsUnshared(db, viewer, name)
}

async function resolveName(db: Database, scope: ServingScope, name: string): Promise<ServingDeployment[]> {
  const rows = await selectNamed(db, scope, name)
  const orderOf = readOrders(rows, name)
  return toServing(
    db,
    rows.map((row) => ({
      row,
      lora: isNamedItself(row, name) ? null : findLora(row, name),
      order: orderOf(row),
    })),
  )
}

/** The deployments that `base` names with one of their LoRAs. */
async function resolveLora(
  db: Database,
  scope: ServingScope,
  base: string,
  loraName: string,
): Promise<ServingDeployment[]> {
  const rows = await selectNamed(db, scope, base)
  const orderOf = readOrders(rows, base)
  const adapted = rows.flatMap((row) => {
    const lora = isNamedItself(row, base) ? findLora(row, loraName) : null
    return lora === null ? [] : [{ row, lora, order: orderOf(row) }]
  })
  return toServing(db, adapted)
}

/** The deployments that a name reaches, in the order of precedence of `resolveDeployments`. */
async function selectNamed(db: Database, scope: ServingScope, name: string): Promise<Deployment[]> {
  const rows = await listDeploymentsByName(db, scope, name)
  const exact = rows.find((row) => row.id === name) ?? rows.find((row) => row.inference_model_uid === name)
  if (exact !== undefined) return [exact]
  const aliased = rows.filter(({ alias }) => alias === name)
  return aliased.length > 0 ? aliased : rows
}

/** The places of deployments that an alias names: those without an order come last. null if none has one. */
function readOrders(rows: readonly Deployment[], name: string): (row: Deployment) => number | null {
  const isOrdered = rows.some(({ alias, alias_order: order }) => alias === name && order !== null)
  return isOrdered ? ({ alias_order: order }) => order ?? Infinity : () => null
}

/** False if only a LoRA of the deployment has the name. */
function isNamedItself(row: Deployment, name: string): boolean {
  return [row.id, row.inference_model_uid, row.alias, row.model_name].includes(name)
}

function findLora({ adapters }: Deployment, name: string): ModelLora | null {
  return adapters.find(({ modelName }) => modelName === name) ?? null
}

/** The viewer's own deployments, and those that others share with them in their current organization. */
function servingScopes(viewer: Viewer): [ServingScope, ServingScope] {
  return [{ ownerId: viewer.userId }, { sharee: toSharee(viewer) }]
}

function lazily<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let reading: Promise<Value> | undefined
  return () => (reading ??= read())
}

/** Why one of these persons may not call a deployment; null if all may. */
export function judgeCall(persons: readonly Person[], deployment: DeploymentOwnership): AccessRefusal | null {
  for (const person of persons) {
    const refusal = judgeAccess({ act: 'call', person, deployment })
    if (refusal !== null) return refusal
  }
  return null
}

/** Returns those that all may call; throws the first one's refusal, or `toUnknown()` if it is hidden. */
export function requireCallable<Each extends DeploymentOwnership>(
  persons: readonly Person[],
  deployments: readonly Each[],
  toUnknown: () => Error,
): readonly Each[] {
  const isCallable = (deployment: Each) => judgeCall(persons, deployment) === null
  if (deployments.every(isCallable)) return deployments
  const callable = deployments.filter(isCallable)
  if (callable.length > 0) return callable
  const refusal = judgeCall(persons, deployments[0]!)!
  throw refusal.code === 'not_found' ? toUnknown() : toAccessError(refusal)
}

/** True for a deployment in lists of models: one that answers requests, or will when it is started again. */
export function isListed({ status, hasServed }: Pick<ServingDeployment, 'status' | 'hasServed'>): boolean {
  return status === 'running' || status === 'sleeping' || (hasServed && isActive(status))
}

/** The listed deployments that the asker may call, newest first, each with all its LoRAs. */
export async function listServingDeployments(
  { db }: Pick<Services, 'db'>,
  asker: Asker,
): Promise<{ own: ServingDeployment[]; shared: ServingDeployment[] }> {
  const [own, shared] = await Promise.all(
    servingScopes(asker.viewer).map(async (scope) => {
      const rows = await listCallableDeployments(db, scope)
      const serving = await toServing(
        db,
        rows.flatMap((row) => [null, ...row.adapters].map((lora) => ({ row, lora, order: row.alias_order }))),
      )
      return serving.filter((deployment) => judgeCall(personsOf(asker), deployment) === null)
    }),
  )
  return { own: own!, shared: shared! }
}

/** The ids of the instances whose engine does not serve at this address anymore. */
export async function findLostEngines(
  db: Database,
  engines: readonly Pick<ServingInstance, 'instanceId' | 'engineUrl'>[],
): Promise<Set<string>> {
  if (engines.length === 0) return new Set()
  const urls = new Map(engines.map(({ instanceId, engineUrl }) => [instanceId, engineUrl]))
  const rows = await db
    .selectFrom('instances')
    .select(['id', 'engine_url'])
    .where('id', 'in', [...urls.keys()])
    .execute()
  return new Set(rows.flatMap(({ id, engine_url: url }) => (url === urls.get(id) ? [] : [id])))
}

interface NamedDeployment {
  row: Deployment
  /** The LoRA that the request names; null for none */
  lora: ModelLora | null
  /** In the order of the alias; null without one */
  order: number | null
}

async function toServing(db: Database, named: readonly NamedDeployment[]): Promise<ServingDeployment[]> {
  const instances = await listShownInstances(
    db,
    named.map(({ row }) => row.id),
  )
  return named.map(({ row, lora, order }) => {
    const { modelType, format, engines: engineProfiles, weights } = parseStoredVariant(row)
    const ownName = weights.kind === 'endpoint' ? weights.model : null
    const shown = instances.get(row.id) ?? []
    return {
      deploymentId: row.id,
      ...toOwnership(row),
      modelName: lora?.modelName ?? row.model_name,
      loraId: lora?.modelId ?? null,
      baseModelName: row.model_name,
      alias: row.alias,
      aliasOrder: order,
      modelType,
      format,
      engineProfiles,
      modelUid: row.inference_model_uid,
      status: row.status,
      failureReason: row.failure_reason,
      hasServed: row.ran_at !== null,
      cacheScope: row.cache_scope,
      isWaking: isWaking(row),
      recovery: row.recovery,
      createdAt: row.created_at,
      contextTokens: shown[0]?.context_tokens ?? null,
      instances: shown
        .filter((instance) => lora === null || hasLora(instance, lora.modelId))
        .flatMap((instance) => toServingInstance(instance, ownName)),
    }
  })
}

/** True if the deployment sleeps, falls asleep, or has been woken and starts. */
function isWaking({ status, desired_state, woken_at: wokenAt, recovery }: Deployment): boolean {
  if (desired_state === 'asleep') return true
  if (isRecovering({ status, recovery })) return false
  return wokenAt !== null && (status === 'provisioning' || status === 'deploying')
}

/** `ownName` is the engine's own name of the model; null if Berth chooses the name. */
function toServingInstance(instance: Instance, ownName: string | null): ServingInstance[] {
  const { id, status, runtime, engine_url: engineUrl } = instance
  const servedModelName = ownName ?? instance.served_model_name
  if (status !== 'running' || engineUrl === null) return []
  const { context_tokens: contextTokens, parallel_sequences: parallelSequences } = instance
  const engineLoras = groupByFile(instance.adapters).map((loras) => loras.map(({ modelId }) => modelId))
  return [
    { instanceId: id, runtime, engineUrl, servedModelName, contextTokens, parallelSequences, engineLoras },
  ]
}
