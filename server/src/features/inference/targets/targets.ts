import { createNotifiedCache } from '../../../database/notified-cache.ts'
import type { NotifiedCache } from '../../../database/notified-cache.ts'
import type { Notifications } from '../../../database/notifications.ts'
import type { Services } from '../../../services.ts'
import { userIdOf } from '../../deployments/serving/asker.ts'
import type { Asker } from '../../deployments/serving/asker.ts'
import { deriveCacheSalt, deriveEngineKey } from '../../deployments/serving/engine-spec.ts'
import type { ModelRuntime } from '../../../ports/model-runtime.ts'
import type {
  ChatForm,
  LoraServing,
  EngineRoute,
  MeaningfulField,
  RuntimeEngine,
  TokenCounts,
} from '../../../ports/runtime-engine.ts'
import { seesImages } from '../../deployments/serving/sees-images.ts'
import type { ServingDeployment, ServingInstance } from '../../deployments/serving/serving-deployments.ts'
import { listEngineRoutes, listIgnoredFields } from './engine-routes.ts'
import { findTargets, UnavailableError } from './find-targets.ts'
import type { FoundDeployment, TargetScope } from './find-targets.ts'
import { toGatewayError } from './gateway-errors.ts'

/** An instance that serves requests, with everything needed to send one. */
export interface EngineTarget
  extends Omit<FoundDeployment, 'instances' | 'contextTokens'>, Omit<ServingInstance, 'runtime'> {
  origin: string
  /** Path of the engine's base address, usually empty */
  basePath: string
  /** Runs the engine */
  runtime: ModelRuntime
  /** Authorization header; null when the engine needs none. Replaced in place after the engine rejects it. */
  authorization: string | null
  /** The name of that header; null for `authorization` */
  keyHeader: string | null
  counts: TokenCounts
  adaptsRoles: boolean
  /** Names the engine in sentences */
  engineTitle: string
  routes: ReadonlySet<EngineRoute>
  /** False if it surely refuses images */
  seesImages: boolean
  /** Fields that it ignores although they change what an answer means */
  ignoredFields: ReadonlySet<MeaningfulField>
  /** null if it does all that chats may ask for */
  chatForm: ChatForm | null
  /** For requests to an engine that salts its cache; null for others */
  cacheSalt: string | null
  /** Requests must use no cache, which the engine can't separate by person. */
  cacheOff: boolean
  /** The member `lora` of requests; null if the engine has no LoRAs, or selects them by name */
  lora: string | null
}

/** The targets of each session, current organization, named member, model name and order, in memory. */
export type TargetCache = NotifiedCache<readonly EngineTarget[]>

/** Entries live for at most a minute, in case a row changes without a notification. */
export function createTargetCache(notifications: Notifications): TargetCache {
  return createNotifiedCache(notifications, 'deployment_changed', { limit: 20_000, milliseconds: 60_000 })
}

/** Longer names match no deployment and are not cached. */
const maxNameLength = 500

/** Returns the cached targets of `model` after this order; undefined when they are not cached. */
export function recallTargets(
  targets: TargetCache,
  asker: Asker,
  model: string,
  after: number,
): readonly EngineTarget[] | undefined {
  return model.length > maxNameLength ? undefined : targets.get(toKey(asker, model, after))
}

/** Requests with the same key have the same targets. */
export function toKey({ viewer, member }: Asker, model: string, after: number): string {
  const who = `${viewer.session.id} ${viewer.organizationId} ${member === null ? '' : member.userId}`
  return `${who} ${after} ${model}`
}

export interface TargetDeps extends Pick<Services, 'db' | 'clock' | 'runtimes' | 'secretKey'> {
  inference: { targets: TargetCache }
}

/** Reads `model`'s targets after this order from the database and caches them. Throws as `findTargets`. */
export async function loadTargets(
  deps: TargetDeps,
  asker: Asker,
  model: string,
  after: number,
): Promise<readonly EngineTarget[]> {
  const load = async () => {
    const value = await readTargets(deps, asker, model, { after })
    // Others can end their sharing; an own deployment only changes its place.
    const { userId } = asker.viewer
    const survives = asker.member === null && value.every(({ ownerId }) => ownerId === userId)
    return { value, userId, survives }
  }
  if (model.length > maxNameLength) return (await load()).value
  const found = await deps.inference.targets.load(toKey(asker, model, after), load)
  return found ?? []
}

/** Reads `model`'s targets in this scope. Throws as `findTargets`. */
export async function readTargets(
  deps: Omit<TargetDeps, 'inference'>,
  asker: Asker,
  model: string,
  scope: TargetScope,
): Promise<EngineTarget[]> {
  return toTargets(deps, asker, await findTargets(deps, asker, model, scope))
}

/** Omits instances whose authorization can't be obtained. Throws if none is left. */
async function toTargets(
  deps: Pick<TargetDeps, 'runtimes' | 'secretKey'>,
  asker: Asker,
  deployments: readonly FoundDeployment[],
): Promise<EngineTarget[]> {
  const results = await Promise.allSettled(
    deployments.flatMap(({ instances, ...deployment }) =>
      instances.map((instance) => toTarget(deps, asker, { ...deployment, ...instance })),
    ),
  )
  const targets = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const rejected = results.find((result) => result.status === 'rejected')
  const [first] = deployments
  if (targets.length > 0 || rejected === undefined || first === undefined) return targets
  const error = toGatewayError(rejected.reason)
  throw first.aliasOrder === null ? error : new UnavailableError(first, error)
}

async function toTarget(
  { runtimes, secretKey }: Pick<TargetDeps, 'runtimes' | 'secretKey'>,
  asker: Asker,
  instance: Omit<FoundDeployment, 'instances' | 'contextTokens'> & ServingInstance,
): Promise<EngineTarget> {
  const { engineUrl, deploymentId, instanceId: engineId, modelUid, organizationId, cacheScope } = instance
  const runtime = runtimes.get(instance.runtime)
  const outside = (await runtime.reachEngine?.(engineUrl)) ?? null
  const { origin, pathname } = new URL(outside?.baseUrl ?? engineUrl)
  const engine = findEngine(runtime, instance)
  const separation = instance.modelType === 'LLM' ? engine?.cacheSeparation : undefined
  const selected = selectLora(engine?.loras, instance)
  return {
    ...instance,
    runtime,
    servedModelName: selected.name ?? runtime.nameModel?.({ engineId, modelUid }) ?? instance.servedModelName,
    lora: selected.lora,
    origin,
    counts: engine?.counts ?? noCounts,
    adaptsRoles: engine?.adaptsRoles ?? false,
    engineTitle: engine?.title ?? 'The engine',
    routes: engine === undefined ? noRoutes : listRoutes(engine, instance),
    seesImages: seesImages(engine, instance),
    ignoredFields: engine === undefined ? noFields : listIgnoredFields(engine),
    chatForm: engine?.chatForm ?? null,
    cacheSalt:
      separation?.by === 'salt' && (cacheScope === 'member' || separation.spansEngines === true)
        ? deriveCacheSalt(secretKey, cacheScope, { organizationId, userId: userIdOf(asker) })
        : null,
    cacheOff: separation?.by === 'off' && cacheScope === 'member' && instance.sharedWith !== null,
    basePath: pathname.replace(/\/+$/, ''),
    authorization:
      outside !== null
        ? outside.authorization
        : runtime.authorizeEngine === undefined
          ? `Bearer ${deriveEngineKey(secretKey, deploymentId)}`
          : await runtime.authorizeEngine(engineUrl),
    keyHeader: outside?.header ?? null,
    isOutside: outside !== null,
  }
}

/** How a request to an engine selects a LoRA, or none. */
function selectLora(
  serving: LoraServing | undefined,
  { loraId, engineLoras }: Pick<ServingDeployment, 'loraId'> & ServingInstance,
): { name: string | null; lora: string | null } {
  if (engineLoras.length === 0 || serving === undefined) return { name: null, lora: null }
  const isSelected = (ids: readonly string[]) => loraId !== null && ids.includes(loraId)
  if (serving.selectedBy === 'name') return { name: engineLoras.find(isSelected)?.[0] ?? null, lora: null }
  // Without a scale for each, the engine would apply all of them.
  const scales = engineLoras.map((ids, id) => ({ id, scale: isSelected(ids) ? 1 : 0 }))
  return { name: null, lora: JSON.stringify(scales) }
}

/** The routes of an engine, without those on which requests can't select a LoRA or separate the cache. */
function listRoutes(
  engine: RuntimeEngine,
  { engineLoras, cacheScope }: Pick<ServingInstance, 'engineLoras'> & Pick<ServingDeployment, 'cacheScope'>,
): ReadonlySet<EngineRoute> {
  const deaf = [
    ...((engineLoras.length > 0 && engine.loras?.deafRoutes) || []),
    ...((cacheScope === 'member' && engine.cacheSeparation?.deafRoutes) || []),
  ]
  const routes = listEngineRoutes(engine)
  return deaf.length === 0 ? routes : new Set([...routes].filter((route) => !deaf.includes(route)))
}

const noCounts: TokenCounts = { inEvents: 'none', afterAbort: 'none' }
const noRoutes: ReadonlySet<EngineRoute> = new Set()
const noFields: ReadonlySet<MeaningfulField> = new Set()

/** The engine of a deployment; undefined if its runtime no longer has one for the format. */
function findEngine(
  { engines }: Pick<ModelRuntime, 'engines'>,
  { format }: Pick<ServingDeployment, 'format'>,
): RuntimeEngine | undefined {
  return engines.find(({ formats }) => formats.includes(format))
}
