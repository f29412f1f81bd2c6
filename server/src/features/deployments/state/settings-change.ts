/** The settings of a deployment that people change. LoRAs are names. */
export const changedSettings = [
  'alias',
  'alias_order',
  'shared_with',
  'min_instances',
  'max_instances',
  'idle_minutes',
  'target_concurrency',
  'schedules',
  'yields',
  'cache_scope',
  'min_context_tokens',
  'min_parallel_sequences',
  'adapters',
  'engine_options',
  'engine_version',
  'managed_by',
  'managed_name',
] as const

/** The changed settings by name, as in the API. */
export type Settings = Partial<Record<(typeof changedSettings)[number], unknown>>

/** What a person changed; null as `user_id` for the server itself. A termination changes no setting. */
export interface SettingsChange {
  user_id: number | null
  before: Settings
  after: Settings
}

/** The settings that `columns` names, from a row or its changes. */
export function pickSettings(columns: object, row: object): Settings {
  const entries = changedSettings
    .filter((name) => name in columns)
    .map((name) => [name, toSetting(name, (row as Record<string, unknown>)[name])])
  return Object.fromEntries(entries)
}

function toSetting(name: string, value: unknown): unknown {
  return name === 'adapters' && Array.isArray(value)
    ? value.map(({ modelName }: { modelName: string }) => modelName)
    : value
}
