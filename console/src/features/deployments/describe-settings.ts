import type { Deployment, DeploymentActivityItem } from '../../contract.ts'
import { formatNumber } from '../../format.ts'
import { writeEngineOptions } from '../../engine-options.ts'
import type { EngineOptions } from '../../engine-options.ts'
import { describeRule, toRules } from '../../schedules.ts'
import { text } from '../../text/index.ts'

const words = text.activity

export type Settings = NonNullable<DeploymentActivityItem['change']>['before']
export type Setting = keyof typeof words.settings

/** Compared by value: the settings come from JSON. */
const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** The names of settings, in the order of the page. */
export function listSettings(settings: Settings): Setting[] {
  return (Object.keys(words.settings) as Setting[]).filter((name) => name in settings)
}

/** The value of a setting in words. */
export function describeSetting(name: Setting, value: unknown): string {
  if (value === null || value === undefined) return words.nothing
  if (typeof value === 'boolean') return value ? words.yes : words.no
  if (typeof value === 'number') return formatNumber(value)
  if (name === 'schedules') return list(toRules(value as Deployment['policy']['schedules']).map(describeRule))
  if (name === 'engine_options') return list(writeEngineOptions(value as EngineOptions))
  if (Array.isArray(value)) return list(value.map(String))
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const list = (values: readonly string[]) => (values.length === 0 ? words.nothing : values.join(', '))

/** A deployment's present settings, by the names in its activity. */
export function readSettings(deployment: Deployment): Required<Settings> {
  const { alias, alias_order, shared_with, min_context_tokens, min_parallel_sequences, adapters } = deployment
  const { engine_options, engine_version, managed_by, managed_name, policy } = deployment
  const { schedules, ...rest } = policy
  return {
    ...rest,
    schedules,
    alias,
    alias_order,
    shared_with,
    min_context_tokens,
    min_parallel_sequences,
    adapters: adapters.map(({ model_name: name }) => name),
    engine_options,
    engine_version,
    managed_by,
    managed_name,
  }
}

/** Those of the older settings that differ from the present ones and can be set again: not LoRAs. */
export function findRestored(deployment: Deployment, older: Settings): Settings {
  const present = readSettings(deployment)
  const names = listSettings(older).filter(
    (name) =>
      !['adapters', 'managed_by', 'managed_name'].includes(name) && !isSame(older[name], present[name]),
  )
  return Object.fromEntries(names.map((name) => [name, older[name]]))
}
