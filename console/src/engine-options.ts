import type { Deployment } from './contract.ts'

export type EngineOptions = Deployment['engine_options']

/** Reads options that people write as `name=value`, or a name alone for true. Throws what has no name. */
export function parseEngineOptions(texts: readonly string[]): EngineOptions {
  return Object.fromEntries(
    texts
      .map((text) => text.trim())
      .filter((text) => text !== '')
      .map((text) => {
        const [, name, value = 'true'] = /^(?:--)?([a-z0-9][a-z0-9-]*)(?:=(.*))?$/su.exec(text) ?? []
        if (name === undefined) throw new RangeError(text)
        return [name, toValue(value)]
      }),
  )
}

/** The options, each as `name=value`. */
export function writeEngineOptions(options: EngineOptions): string[] {
  return Object.entries(options).map(([name, value]) => `${name}=${value}`)
}

function toValue(text: string): EngineOptions[string] {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}
