import type { Config } from '../../src/config/config.ts'

/** Values of a configuration that tests replace, because no setting has them. */
export type ConfigChanges = DeepPartial<Config>

type DeepPartial<Value> = Value extends object
  ? { [Name in keyof Value]?: DeepPartial<Value[Name]> | undefined }
  : Value

/** The configuration with these changes, which may name single members of an object. */
export function changeConfig(config: Config, changes: ConfigChanges): Config {
  return merge(config, changes) as Config
}

function merge(value: unknown, change: unknown): unknown {
  if (!isPlainObject(value) || !isPlainObject(change)) return change
  const changed = Object.entries(change).map(([name, each]) => [name, merge(value[name], each)])
  return { ...value, ...Object.fromEntries(changed) }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
