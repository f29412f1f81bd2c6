/** The JSON object of a configuration, whose values may be anything. */
export type ConfigObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is ConfigObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A text of a configuration; empty for any other value, which may not even have a text. */
export function readText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
