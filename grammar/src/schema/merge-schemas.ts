import { propertiesOf } from './json-schema.ts'
import type { Refuse, Schema } from './json-schema.ts'
import { constraintsOf } from './keywords.ts'

/**
 * Combines schemas into one that accepts what both accept. Several values of `pattern` and `format` become
 * lists. Rejects combinations without an equivalent schema.
 */
export function mergeSchemas(left: Schema, right: Schema, path: string, refuse: Refuse): Schema {
  const merged: Schema = { ...constraintsOf(left) }
  for (const [keyword, value] of Object.entries(constraintsOf(right))) {
    const other = merged[keyword]
    merged[keyword] =
      other === undefined ? value : combine(keyword, other, value, () => refuse(path, conflict(keyword)))
  }
  for (const [one, another] of [
    [left, right],
    [right, left],
  ] as const) {
    const isClosed = one['additionalProperties'] !== undefined && one['additionalProperties'] !== true
    const isForeign = Object.keys(propertiesOf(another)).some(
      (name) => !Object.hasOwn(propertiesOf(one), name),
    )
    if (isClosed && isForeign) refuse(path, conflict('additionalProperties'))
  }
  return merged
}

const conflict = (keyword: string): string =>
  `combined schemas have different values of "${keyword}", which is not supported`

function combine(keyword: string, left: unknown, right: unknown, refuse: () => never): unknown {
  switch (keyword) {
    case 'type': {
      const [ours, theirs] = [[left].flat(), [right].flat()]
      const accepts = (types: unknown[], type: unknown): boolean =>
        types.includes(type) || (type === 'integer' && types.includes('number'))
      const common = [
        ...ours.filter((type) => accepts(theirs, type)),
        ...theirs.filter((type) => accepts(ours, type)),
      ]
      return common.length === 0 ? refuse() : [...new Set(common)]
    }
    case 'minimum':
    case 'exclusiveMinimum':
    case 'minItems':
    case 'minLength':
      return Math.max(left as number, right as number)
    case 'maximum':
    case 'exclusiveMaximum':
    case 'maxItems':
    case 'maxLength':
      return Math.min(left as number, right as number)
    case 'required':
      return [...new Set([...(left as string[]), ...(right as string[])])]
    case 'pattern':
    case 'format':
      return [...new Set([left, right].flat())]
    case 'allOf':
      return [...(left as unknown[]), ...(right as unknown[])]
    case 'items':
      return { allOf: [left, right] }
    case 'properties': {
      const both: Schema = { ...(left as Schema) }
      for (const [name, schema] of Object.entries(right as Schema)) {
        both[name] = Object.hasOwn(both, name) ? { allOf: [both[name], schema] } : schema
      }
      return both
    }
    case 'enum': {
      const values = new Set((right as unknown[]).map((value) => JSON.stringify(value)))
      const common = (left as unknown[]).filter((value) => values.has(JSON.stringify(value)))
      return common.length === 0 ? refuse() : common
    }
    default:
      return JSON.stringify(left) === JSON.stringify(right) ? left : refuse()
  }
}
