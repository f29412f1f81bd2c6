import type { Deployment } from '../../../console/src/contract.ts'
import type { WantedDeployment } from './file-schema.ts'
import { findModel } from './server-state.ts'
import type { ServerState } from './server-state.ts'

/** The settings of a deployment that a change can set, by their names in the file. */
export type Settings = Record<(typeof settingNames)[number], unknown>

const settingNames = [
  'alias',
  'alias_order',
  'min_context_tokens',
  'min_parallel_sequences',
  'loras',
  'engine_options',
  'engine_version',
  'shared_with',
  'policy.min_instances',
  'policy.max_instances',
  'policy.idle_minutes',
  'policy.yields',
  'policy.cache_scope',
  'policy.target_concurrency',
  'policy.schedules',
] as const

/** A setting that differs. */
export interface Difference {
  field: string
  before: unknown
  after: unknown
}

/** The settings of the file. Absent ones take the value of `present`. */
export function toWantedSettings(
  { shared_with: sharedWith, policy, ...wanted }: WantedDeployment,
  present: Settings | null,
  state: ServerState,
): Settings {
  return {
    alias: wanted.alias,
    alias_order: wanted.alias_order,
    min_context_tokens: wanted.min_context_tokens,
    min_parallel_sequences: wanted.min_parallel_sequences,
    loras: wanted.loras.map((name) => findModel(state, name)?.model_name ?? name),
    engine_options: sortKeys(wanted.engine_options),
    engine_version: wanted.engine_version,
    shared_with: toComparableSharing(sharedWith),
    'policy.min_instances': policy.min_instances,
    'policy.max_instances': policy.max_instances ?? policy.min_instances,
    'policy.idle_minutes':
      policy.idle_minutes === undefined ? present?.['policy.idle_minutes'] : policy.idle_minutes,
    'policy.yields': policy.yields,
    'policy.cache_scope': policy.cache_scope,
    'policy.target_concurrency': policy.target_concurrency,
    'policy.schedules': policy.schedules,
  }
}

/** The settings that a deployment has. */
export function toPresentSettings(deployment: Deployment, state: ServerState): Settings {
  const { policy } = deployment
  return {
    alias: deployment.alias,
    alias_order: deployment.alias_order,
    min_context_tokens: deployment.min_context_tokens,
    min_parallel_sequences: deployment.min_parallel_sequences,
    loras: deployment.adapters.map(({ model_name: name }) => name),
    engine_options: sortKeys(deployment.engine_options),
    engine_version: deployment.engine_version,
    shared_with: toComparableSharing(nameSharing(deployment.shared_with, state)),
    'policy.min_instances': policy.min_instances,
    'policy.max_instances': policy.max_instances,
    'policy.idle_minutes': policy.idle_minutes,
    'policy.yields': policy.yields,
    'policy.cache_scope': policy.cache_scope,
    'policy.target_concurrency': policy.target_concurrency,
    'policy.schedules': policy.schedules.map(({ cron, time_zone, min_instances }) => ({
      cron,
      time_zone,
      min_instances,
    })),
  }
}

/** The settings that differ, in the order of the file. */
export function compareSettings(present: Settings, wanted: Settings): Difference[] {
  return settingNames
    .filter((name) => wanted[name] !== undefined)
    .map((field) => ({ field, before: present[field], after: wanted[field] }))
    .filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after))
}

type FileSharing = WantedDeployment['shared_with']

/** Teams by their names, or by their ids where the person doesn't see them; members by their emails. */
export function nameSharing(
  sharedWith: Deployment['shared_with'],
  { teams, members }: Pick<ServerState, 'teams' | 'members'>,
): FileSharing {
  if (sharedWith === null || sharedWith === 'organization') return sharedWith
  return {
    teams: sharedWith.teams.map((id) => teams.find((team) => team.id === id)?.name ?? id),
    members: sharedWith.members.flatMap((id) => members.find((member) => member.user_id === id)?.email ?? []),
  }
}

/** Names and emails are the same in any case and order. */
function toComparableSharing(sharedWith: FileSharing): unknown {
  if (sharedWith === null || sharedWith === 'organization') return sharedWith
  const sort = (values: readonly (string | number)[]) =>
    [
      ...new Set(values.map((value) => (typeof value === 'number' ? `#${value}` : value.toLowerCase()))),
    ].toSorted()
  return { teams: sort(sharedWith.teams), members: sort(sharedWith.members) }
}

function sortKeys(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
