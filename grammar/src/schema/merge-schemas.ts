import type { Spend } from '../work-budget.ts'
import { propertiesOf } from './json-schema.ts'
import type { Refuse, Schema } from './json-schema.ts'
import { constraintsOf } from './keywords.ts'

interface Merging {
  path: string
  refuse: Refuse
  spend: Spend
}

interface Combining {
  refuse: () => never
  spend: (steps: number) => void
}

/**
 * Combines schemas into one that accepts what both accept. Several values of `pattern` and `format` become
 * lists. Rejects combinations without an equivalent schema.
 */
export function mergeSchemas(left: Schema, right: Schema, { path, refuse, spend }: Merging): Schema {
  const merged: Schema = { ...constraintsOf(left) }
  for (const [keyword, value] of Object.entries(constraintsOf(right))) {
    const other = merged[keyword]
    spend(10, path, 'allOf')
    merged[keyword] =
      other === undefined
        ? value
        : combine(keyword, other, value, {
            refuse: () => refuse(path, conflict(keyword)),
            spend: (steps) => spend(steps, path, 'allOf'),
          })
  }
  for (const [one, another] of [
    [left, right],
    [right, left],
  ] as const) {
    const isClosed = one['additionalProperties'] !== undefined && one['additionalProperties'] !== true
    if (!isClosed) continue
    const names = Object.keys(propertiesOf(another))
    spend(names.length, path, 'allOf')
    if (names.some((name) => !Object.hasOwn(propertiesOf(one), name))) {
      refuse(path, conflict('additionalProperties'))
    }
  }
  return merged
}

const conflict = (keyword: string): string =>
  `combined schemas have different values of "${keyword}", which is not supported`

function combine(keyword: string, left: unknown, right: unknown, { refuse, spend }: Combining): unknown {
  const write = (value: unknown): string => {
    const text = JSON.stringify(value)
    spend(1 + text.length / 8)
    return text
  }
  if (Array.isArray(left) && Array.isArray(right)) spend((left.length + right.length) * 4)
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
      spend((Object.keys(left as Schema).length + Object.keys(right as Schema).length) * 4)
      const both: Schema = { ...(left as Schema) }
      for (const [name, schema] of Object.entries(right as Schema)) {
        if (both[name] === schema) continue
        both[name] = Object.hasOwn(both, name) ? { allOf: [both[name], schema] } : schema
      }
      return both
    }
    case 'enum': {
      const values = new Set((right as unknown[]).map(write))
      const common = (left as unknown[]).filter((value) => values.has(write(value)))
      return common.length === 0 ? refuse() : common
    }
    default:
      return write(left) === write(right) ? left : refuse()
  }
}
