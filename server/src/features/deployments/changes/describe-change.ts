import type { EngineOptions, ModelLora } from '../../../ports/model-variant.ts'
import type { CapacityMinimums } from '../../placement/serving-capacity.ts'
import type { SharedWith } from '../state/shared-with.ts'
import type { Deployment } from '../state/store.ts'

/** How many instances a deployment has, and when it sleeps. */
export type Policy = Pick<
  Deployment,
  | 'min_instances'
  | 'max_instances'
  | 'idle_minutes'
  | 'yields'
  | 'cache_scope'
  | 'target_concurrency'
  | 'schedules'
>

/** The names of LoRAs in sentences. */
export function listLoras(adapters: readonly ModelLora[]): string {
  return adapters.map(({ modelName }) => modelName).join(', ')
}

// Each function below returns a sentence for the history of a deployment.

export function describeLoras(adapters: readonly ModelLora[]): string {
  return adapters.length === 0
    ? 'The deployment serves no LoRAs anymore.'
    : `The deployment is to serve the LoRAs ${listLoras(adapters)}.`
}

export function describeOptions(options: EngineOptions): string {
  const list = Object.entries(options).map(([name, value]) => `${name}=${value}`)
  return list.length === 0
    ? 'The engine is to start without options of the deployment.'
    : `The engine is to start with ${list.join(', ')}.`
}

export function describeVersion(version: string | null): string {
  return version === null
    ? 'Each start takes the newest version of the engine from now on.'
    : `The deployment is to have version ${version} of the engine.`
}

export function describeManagement(managedBy: string | null): string {
  return managedBy === null
    ? 'No file of `berth apply` manages the deployment anymore.'
    : `The file ${managedBy} of \`berth apply\` manages the deployment from now on.`
}

export function describeManagedName(name: string | null): string {
  return name === null ? 'No file names the deployment anymore.' : `It is called ${name} in the file.`
}

export function describeSharing(sharedWith: SharedWith | null): string {
  if (sharedWith === null) return 'Only the owner may call the model from now on.'
  const whose = sharedWith === 'organization' ? 'The members' : 'Some teams or members'
  return `${whose} of the organization may call the model from now on.`
}

export function describeAlias(alias: string | null): string {
  return alias === null
    ? 'Requests do not reach the model by an alias anymore.'
    : `Requests reach the model by the alias ${alias} from now on.`
}

export function describeOrder(order: number | null): string {
  return order === null
    ? 'The deployment has no place in the order of its alias anymore.'
    : `The deployment has place ${order} in the order of its alias.`
}

export function describeMinimums({ contextTokens, parallelSequences }: CapacityMinimums): string {
  const parts = [
    ...(contextTokens === null ? [] : [`a context of ${contextTokens} tokens`]),
    ...(parallelSequences === null ? [] : [`${parallelSequences} parallel sequences`]),
  ]
  return parts.length === 0
    ? 'The owner asks for no minimum capacity anymore.'
    : `The owner asks for at least ${parts.join(' and ')}.`
}

/** Some sentences for the history of a deployment. */
export function describePolicy({
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
