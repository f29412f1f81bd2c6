import { isDeepStrictEqual } from 'node:util'
import { assertWithinLimit } from '../../billing/limits/deployment-limits.ts'
import { requireActive } from './sleep.ts'
import { ApplicationError, invalidField } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'
import type { Viewer } from '../../../base/viewer.ts'
import { recordAction } from '../../audit/record-action.ts'
import { updateOwnDeployment } from '../state/change-store.ts'
import { requireEngineOptions } from '../../catalog/engine-options.ts'
import type { EngineOptions, ModelLora } from '../../../ports/model-variant.ts'
import type { RuntimeEngine } from '../../../ports/runtime-engine.ts'
import { chooseLoras } from './choose-loras.ts'
import { claimNames, lockNames } from './claim-names.ts'
import { accessDeployment, requireAdmin } from '../state/access-deployment.ts'
import type { DeploymentReference } from '../state/access-deployment.ts'
import { requireAnswers } from '../../placement/choose-instance.ts'
import { queryRuntime } from '../../placement/query-runtime.ts'
import { listDeploymentEngines } from '../state/deployment-engines.ts'
import { listLiveInstances } from '../state/instance-store.ts'
import { chooseHardware, needsResize, minimumsOf, settingsOf } from '../state/resize.ts'
import type { CapacityMinimums } from '../../placement/serving-capacity.ts'
import { describeTarget } from '../state/audit-target.ts'
import { usesEndpoint } from '../state/store.ts'
import type { Deployment } from '../state/store.ts'
import { pickSettings } from '../state/settings-change.ts'
import type { SharedWith } from '../state/shared-with.ts'
import type { EngineSettings } from '../state/tables.ts'
import { refuseEngineSettings } from './require-endpoint.ts'
import { requireManager } from './require-manager.ts'
import { requireSharees } from './require-sharees.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'runtimes' | 'prices'>

/** Changes of a deployment. Omitted fields stay. */
export type DeploymentUpdate = {
  [Name in keyof CapacityMinimums]?: CapacityMinimums[Name] | undefined
} & {
  sharedWith?: SharedWith | null | undefined
  alias?: string | null | undefined
  aliasOrder?: number | null | undefined
  /** Ids of models */
  adapters?: readonly string[] | undefined
  engineOptions?: EngineOptions | undefined
  engineVersion?: string | null | undefined
  managedBy?: string | null | undefined
  managedName?: string | null | undefined
  policy?: { [Name in keyof Policy]?: Policy[Name] | undefined }
}

/**
 * Changes what a deployment must be able to serve, its alias, its policy, and its sharing. One that doesn't
 * serve yet moves to hardware that is large enough; a running one starts another instance first. Throws
 * `forbidden` if a member sets options of the engine, `deployment_ended`, `no_feasible_instance`,
 * `alias_taken`, `adapter_not_supported` and `not_for_endpoints`.
 */
export async function changeDeployment(
  deps: Deps,
  viewer: Viewer,
  reference: DeploymentReference,
  update: DeploymentUpdate,
): Promise<Deployment> {
  for (;;) {
    const deployment = await accessDeployment(deps, viewer, 'change', reference)
    const { status } = deployment
    requireActive(deployment)
    const adapters =
      update.adapters === undefined ? undefined : await chooseLoras(deps, deployment, update.adapters)
    const change = toChange(deployment, { ...update, adapters })
    if (change === null) return deployment
    const { columns, asksForMore } = change
    if (usesEndpoint(deployment))
      refuseEngineSettings(deployment.model_name, pickChanged(deployment, columns))
    if (columns.engine_options !== undefined) await requireAdmin(deps, viewer, deployment)
    await requireEngine(deps, deployment, columns)
    const next = { ...deployment, ...columns }
    const [before, after] = [pickSettings(columns, deployment), pickSettings(columns, next)]
    const isLarger = asksForMore && (await needsInstance(deps, next))
    if (isLarger) await assertFeasible(deps, next)
    const isServed = asksForMore && !isLarger && status === 'running'
    const claimsNames = 'alias' in columns || 'shared_with' in columns || 'adapters' in columns
    const locksNames = claimsNames || 'alias_order' in columns
    const more = (columns.max_instances ?? 0) - deployment.max_instances
    const changed = await updateOwnDeployment(
      deps.db,
      {
        id: deployment.id,
        status,
        lock: locksNames ? (transaction) => lockNames(transaction, next) : undefined,
      },
      {
        ...columns,
        desired_instances: keepWithin(deployment.desired_instances, { ...deployment, ...columns }),
        // Other minimums may find hardware where the old ones didn't.
        ...(asksForMore ? { refusals: 0, refusal: null } : {}),
        ...(isServed ? { served_settings: toServed(next) } : {}),
      },
      { ...change.event, change: { user_id: viewer.userId, before, after } },
      deps.clock(),
      async (transaction, updated) => {
        const { organization_id: organizationId } = updated
        if ('shared_with' in columns) await requireSharees(transaction, updated)
        if (more > 0) await assertWithinLimit(transaction, deps, organizationId)
        // An admin may have moved the alias meanwhile.
        requireAliasOfOrder(updated)
        requireManager(updated)
        if (claimsNames) await claimNames(transaction, viewer, updated, deps.clock())
        const { target, details } = await describeTarget(transaction, viewer, deployment)
        await recordAction(transaction, viewer, 'deployment.updated', {
          target,
          organizationId,
          details: {
            ...details,
            ...after,
            before,
            ...('engine_options' in columns && {
              engine_options: { from: deployment.engine_options, to: columns.engine_options },
            }),
            ...('engine_version' in columns && {
              engine_version: { from: deployment.engine_version, to: columns.engine_version },
            }),
          },
        })
      },
    )
    if (changed !== undefined) return changed
  }
}

/** The columns that get another value. */
function pickChanged(deployment: Deployment, columns: ChangedColumns): ChangedColumns {
  const changed = Object.entries(columns).filter(
    ([name, value]) => !isDeepStrictEqual(value, deployment[name as keyof ChangedColumns]),
  )
  return Object.fromEntries(changed)
}

type ChangedColumns = Partial<
  Pick<
    Deployment,
    | 'min_context_tokens'
    | 'min_parallel_sequences'
    | 'shared_with'
    | 'alias'
    | 'alias_order'
    | 'adapters'
    | 'engine_options'
    | 'engine_version'
    | 'managed_by'
    | 'managed_name'
    | keyof Policy
  >
>

/** The columns and event of a change; null for no change. `asksForMore`: other hardware may be needed. */
function toChange(
  deployment: Deployment,
  update: Omit<DeploymentUpdate, 'adapters'> & { adapters: ModelLora[] | undefined },
) {
  const minimums = changeMinimums(minimumsOf(deployment), update)
  const {
    sharedWith = deployment.shared_with,
    alias = deployment.alias,
    adapters = deployment.adapters,
    engineOptions = deployment.engine_options,
    engineVersion = deployment.engine_version,
    managedBy = deployment.managed_by,
  } = update
  const { aliasOrder: order = alias === null ? null : deployment.alias_order } = update
  requireAliasOfOrder({ alias, alias_order: order })
  const { managedName = managedBy === null ? null : deployment.managed_name } = update
  requireManager({ managed_by: managedBy, managed_name: managedName })
  const setsLoras = listNames(adapters) !== listNames(deployment.adapters)
  const setsOptions = !isDeepStrictEqual(engineOptions, deployment.engine_options)
  const setsVersion = engineVersion !== deployment.engine_version
  const policy = changePolicy(deployment, update.policy ?? {})
  const changes = [
    minimums !== null && {
      columns: {
        min_context_tokens: minimums.contextTokens,
        min_parallel_sequences: minimums.parallelSequences,
      },
      message: describeMinimums(minimums),
    },
    !isDeepStrictEqual(sharedWith, deployment.shared_with) && {
      columns: { shared_with: sharedWith },
      message: describeSharing(sharedWith),
    },
    alias !== deployment.alias && { columns: { alias }, message: describeAlias(alias) },
    order !== deployment.alias_order && { columns: { alias_order: order }, message: describeOrder(order) },
    setsLoras && { columns: { adapters }, message: describeLoras(adapters) },
    setsOptions && { columns: { engine_options: engineOptions }, message: describeOptions(engineOptions) },
    setsVersion && { columns: { engine_version: engineVersion }, message: describeVersion(engineVersion) },
    managedBy !== deployment.managed_by && {
      columns: { managed_by: managedBy },
      message: describeManagement(managedBy),
    },
    managedName !== deployment.managed_name && {
      columns: { managed_name: managedName },
      message: describeManagedName(managedName),
    },
    policy !== null && { columns: policy, message: describePolicy({ ...deployment, ...policy }) },
  ].filter((change) => change !== false)
  if (changes.length === 0) return null
  return {
    asksForMore: minimums !== null || setsLoras || setsOptions || setsVersion,
    columns: Object.assign({}, ...changes.map(({ columns }) => columns)) as ChangedColumns,
    event: {
      stage: minimums === null ? null : 'instance_selection',
      message: changes.map(({ message }) => message).join(' '),
    },
  }
}

/** The changed minimums; null if they stay. */
function changeMinimums(
  current: CapacityMinimums,
  update: Omit<DeploymentUpdate, 'adapters'>,
): CapacityMinimums | null {
  const { contextTokens = current.contextTokens, parallelSequences = current.parallelSequences } = update
  const isSame = contextTokens === current.contextTokens && parallelSequences === current.parallelSequences
  return isSame ? null : { contextTokens, parallelSequences }
}

function listNames(adapters: readonly ModelLora[]): string {
  return adapters.map(({ modelName }) => modelName).join(', ')
}

function describeLoras(adapters: readonly ModelLora[]): string {
  return adapters.length === 0
    ? 'The deployment serves no LoRAs anymore.'
    : `The deployment is to serve the LoRAs ${listNames(adapters)}.`
}

function describeOptions(options: EngineOptions): string {
  const list = Object.entries(options).map(([name, value]) => `${name}=${value}`)
  return list.length === 0
    ? 'The engine is to start without options of the deployment.'
    : `The engine is to start with ${list.join(', ')}.`
}

function describeVersion(version: string | null): string {
  return version === null
    ? 'Each start takes the newest version of the engine from now on.'
    : `The deployment is to have version ${version} of the engine.`
}

function describeManagement(managedBy: string | null): string {
  return managedBy === null
    ? 'No file of `berth apply` manages the deployment anymore.'
    : `The file ${managedBy} of \`berth apply\` manages the deployment from now on.`
}

function describeManagedName(name: string | null): string {
  return name === null ? 'No file names the deployment anymore.' : `It is called ${name} in the file.`
}

function describeSharing(sharedWith: SharedWith | null): string {
  if (sharedWith === null) return 'Only the owner may call the model from now on.'
  const whose = sharedWith === 'organization' ? 'The members' : 'Some teams or members'
  return `${whose} of the organization may call the model from now on.`
}

function describeAlias(alias: string | null): string {
  return alias === null
    ? 'Requests do not reach the model by an alias anymore.'
    : `Requests reach the model by the alias ${alias} from now on.`
}

function describeOrder(order: number | null): string {
  return order === null
    ? 'The deployment has no place in the order of its alias anymore.'
    : `The deployment has place ${order} in the order of its alias.`
}

/** Throws a 422 for an order without an alias. */
function requireAliasOfOrder({ alias, alias_order: order }: Pick<Deployment, 'alias' | 'alias_order'>): void {
  if (alias !== null || order === null) return
  throw invalidField('alias_order', 'Needs an alias, which the deployment does not have.', 'custom')
}

/** True if an instance has less than the owner asks for, or none has been chosen yet. */
async function needsInstance({ db }: Deps, deployment: Deployment): Promise<boolean> {
  const instances = (await listLiveInstances(db, [deployment.id])).get(deployment.id) ?? []
  return (
    instances.length === 0 ||
    instances.some((instance) => instance.instance_type === null || needsResize(deployment, instance))
  )
}

async function assertFeasible(deps: Deps, deployment: Deployment): Promise<void> {
  const result = await queryRuntime(deps, 'instance types', () => chooseHardware(deps, deployment, []))
  if (result.outcome === 'infeasible') {
    requireAnswers(result)
    throw new ApplicationError('no_feasible_instance', result.reason)
  }
}

function describeMinimums({ contextTokens, parallelSequences }: CapacityMinimums): string {
  const parts = [
    ...(contextTokens === null ? [] : [`a context of ${contextTokens} tokens`]),
    ...(parallelSequences === null ? [] : [`${parallelSequences} parallel sequences`]),
  ]
  return parts.length === 0
    ? 'The owner asks for no minimum capacity anymore.'
    : `The owner asks for at least ${parts.join(' and ')}.`
}

/** How many instances a deployment has, and when it sleeps. */
type Policy = Pick<
  Deployment,
  | 'min_instances'
  | 'max_instances'
  | 'idle_minutes'
  | 'yields'
  | 'cache_scope'
  | 'target_concurrency'
  | 'schedules'
>

/** The changed columns; null if the policy stays. Throws a 422 if the numbers contradict each other. */
function changePolicy(
  deployment: Policy,
  update: { [Name in keyof Policy]?: Policy[Name] | undefined },
): Partial<Policy> | null {
  const changed = Object.fromEntries(
    Object.entries(update).filter(
      ([name, value]) => value !== undefined && !isDeepStrictEqual(value, deployment[name as keyof Policy]),
    ),
  ) as Partial<Policy>
  const { min_instances: least, max_instances: most } = { ...deployment, ...changed }
  if (most < least) {
    throw invalidField('max_instances', `Must be at least \`min_instances\`, which is ${least}.`, 'too_small')
  }
  return Object.keys(changed).length === 0 ? null : changed
}

/** Settings that the running instances meet, with the version that they have. */
function toServed(next: Deployment): EngineSettings {
  const engine_version = next.engine_version ?? next.served_settings?.engine_version ?? null
  return { ...settingsOf(next), engine_version }
}

/** Throws a 422 if the engines of a deployment can't do what it is to ask of them. */
async function requireEngine(deps: Deps, deployment: Deployment, columns: ChangedColumns): Promise<void> {
  const { engine_options: options, engine_version: version, cache_scope: scope } = columns
  if (options === undefined && version == null && scope !== 'member') return
  const { engines, isServing } = await listDeploymentEngines(deps, deployment)
  const { model_format: format } = deployment
  if (options !== undefined) requireEngineOptions({ format }, engines, options)
  if (version != null) requireVersion(engines, version)
  if (scope === 'member') requireSeparableCache(engines, isServing, deployment)
}

/** Throws a 422 for a version of the engine that instances can't have. */
function requireVersion(engines: readonly RuntimeEngine[], version: string): void {
  if (engines.some(({ versions = [] }) => versions.includes(version))) return
  const { title = 'The engine', versions = [] } = engines[0] ?? {}
  const message =
    versions.length === 0
      ? `${title} has no versions to choose from.`
      : `${title} ${version} is not installed. The versions are ${versions.join(', ')}.`
  throw invalidField('engine_version', message, 'custom')
}

/** Throws a 422 if the engine can't keep the cached prompts of people apart. */
function requireSeparableCache(
  engines: readonly RuntimeEngine[],
  isServing: boolean,
  { model_type: type }: Deployment,
): void {
  const unable = engines.find(({ cacheSeparation }) => !cacheSeparation)
  const able = engines.some(({ cacheSeparation }) => cacheSeparation)
  if (type === 'LLM' && able && (unable === undefined || !isServing)) return
  const { title = 'The engine' } = unable ?? engines[0] ?? {}
  const message = `${title} can’t separate the cached prompts of this model by member.`
  throw invalidField('cache_scope', message, 'custom')
}

/** The desired number of instances, within a policy. */
function keepWithin(
  desired: number,
  { min_instances: least, max_instances: most }: Pick<Policy, 'min_instances' | 'max_instances'>,
): number {
  return Math.min(Math.max(desired, least), most)
}

/** Some sentences for the history of a deployment. */
function describePolicy({
  min_instances: least,
  max_instances: most,
  idle_minutes: idle,
  yields,
  cache_scope: cacheScope,
  schedules,
}: Policy): string {
  const number = least === most ? `${least}` : `${least} to ${most}`
  const noun = most === 1 ? 'instance' : 'instances'
  const sentences = [
    `The deployment has ${number} ${noun} while it is awake.`,
    ...(idle === null ? [] : [`It falls asleep after ${idle} minutes without requests.`]),
    ...(schedules.length === 0 ? [] : ['Its schedules change how many are kept awake.']),
    ...(yields ? ['It yields its hardware when it is idle.'] : []),
    ...(cacheScope === 'member' ? ['Each member has a prompt cache of their own.'] : []),
  ]
  return sentences.join(' ')
}
