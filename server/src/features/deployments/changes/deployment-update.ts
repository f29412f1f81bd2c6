import { isDeepStrictEqual } from 'node:util'
import { invalidField } from '../../../base/errors.ts'
import type { EngineOptions, ModelLora } from '../../../ports/model-variant.ts'
import type { CapacityMinimums } from '../../placement/serving-capacity.ts'
import { minimumsOf } from '../state/resize.ts'
import type { SharedWith } from '../state/shared-with.ts'
import type { Deployment } from '../state/store.ts'
import {
  describeAlias,
  describeLoras,
  describeManagedName,
  describeManagement,
  describeMinimums,
  describeOptions,
  describeOrder,
  describePolicy,
  describeSharing,
  describeVersion,
  listLoras,
} from './describe-change.ts'
import type { Policy } from './describe-change.ts'
import { requireManager } from './require-manager.ts'

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

/** The columns that a change sets. */
export type ChangedColumns = Partial<
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
export function toChange(
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
  const setsLoras = listLoras(adapters) !== listLoras(deployment.adapters)
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

/** Throws a 422 for an order without an alias. */
export function requireAliasOfOrder({
  alias,
  alias_order: order,
}: Pick<Deployment, 'alias' | 'alias_order'>): void {
  if (alias !== null || order === null) return
  throw invalidField('alias_order', 'Needs an alias, which the deployment does not have.', 'custom')
}
