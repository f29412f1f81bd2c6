import type { Refuse, Schema } from './schema/json-schema.ts'

/** llama.cpp expands bounded repetitions, so large bounds make huge grammars. */
const maxRepetition = 1000

/** The limits of a length; `max` is null without a limit. */
export interface Bounds {
  min: number
  max: number | null
}

/** Reads length limits from the keywords `least` and `most`. Upper limits above 1000 count as 1000. */
export function readBounds(
  schema: Schema,
  [least, most]: readonly [least: string, most: string],
  path: string,
  refuse: Refuse,
): Bounds {
  const min = (schema[least] as number | undefined) ?? 0
  const max = (schema[most] as number | undefined) ?? Infinity
  if (min > maxRepetition) refuse(path, `"${least}" must be at most ${maxRepetition}`)
  if (min > max) refuse(path, `"${least}" must not exceed "${most}"`)
  return { min, max: max === Infinity ? null : Math.min(max, maxRepetition) }
}
