import { invalid } from './errors.ts'

export type Schema = Record<string, unknown>

/** Maximum nesting of a body: deeper than real requests, far from a stack overflow. */
const MAX_DEPTH = 100

/** Annotations, which do not constrain generation. */
const ANNOTATIONS = new Set([
  '$schema',
  '$id',
  '$comment',
  '$defs',
  'definitions',
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'nullable',
  'strict',
  'contentEncoding',
  'contentMediaType',
])
const CONSTRAINTS = new Set([
  'type',
  'enum',
  'const',
  'oneOf',
  'anyOf',
  'allOf',
  '$ref',
  'properties',
  'required',
  'additionalProperties',
  'propertyNames',
  'items',
  'prefixItems',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
])
const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'])

/** Rejects a schema with a 400. `path` is a JSON pointer to the offending part. */
export type Refuse = (path: string, reason: string) => never

/** True when a parsed JSON value exceeds the maximum nesting. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true
    level = level.flatMap((entry) =>
      typeof entry === 'object' && entry !== null ? Object.values(entry) : [],
    )
  }
  return false
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Creates the function that rejects the schema in the body field `param`. */
export function createRefusal(param: string): Refuse {
  return (path, reason) => {
    throw invalid(
      param,
      `The schema is not supported at ${path.slice(0, 200)}: ${reason}.`,
      'invalid_json_schema',
    )
  }
}

/** Rejects unknown keywords by name and keywords with values of the wrong type. */
export function checkKeywords(schema: Schema, path: string, refuse: Refuse): void {
  for (const [keyword, value] of Object.entries(schema)) {
    if (ANNOTATIONS.has(keyword)) continue
    if (!CONSTRAINTS.has(keyword)) refuse(path, `the keyword "${keyword.slice(0, 64)}" is not supported`)
    const problem = findProblem(keyword, value)
    if (problem !== null) refuse(path, `"${keyword}" ${problem}`)
  }
}

function findProblem(keyword: string, value: unknown): string | null {
  switch (keyword) {
    case 'type':
      return [value].flat().every((type) => TYPES.has(String(type)) && typeof type === 'string')
        ? null
        : 'must be a JSON type or a list of JSON types'
    case 'enum':
      return Array.isArray(value) && value.length > 0 ? null : 'must be a list of values'
    case 'oneOf':
    case 'anyOf':
    case 'allOf':
    case 'prefixItems':
      return Array.isArray(value) && value.length > 0 ? null : 'must be a list of schemas'
    case 'properties':
      return isSchema(value) ? null : 'must be an object of schemas'
    case 'required':
      return Array.isArray(value) && value.every((name) => typeof name === 'string')
        ? null
        : 'must be a list of names'
    case '$ref':
    case 'pattern':
    case 'format':
      return typeof value === 'string' ? null : 'must be a string'
    case 'minItems':
    case 'maxItems':
    case 'minLength':
    case 'maxLength':
      return Number.isInteger(value) && (value as number) >= 0 ? null : 'must be a non-negative integer'
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
    case 'multipleOf':
      return typeof value === 'number' ? null : 'must be a number'
    default:
      return null
  }
}

/** Resolves a local reference such as `#`, `#/$defs/x` or `#/properties/x`. Returns undefined when it leads nowhere. */
export function resolvePointer(root: unknown, reference: string): unknown {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let value: unknown = root
  for (const part of reference.slice(2).split('/')) {
    const name = decode(part)
    if (typeof value !== 'object' || value === null || name === null) return undefined
    if (!Object.hasOwn(value, name)) return undefined
    value = (value as Schema)[name]
  }
  return value
}

function decode(part: string): string | null {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return null
  }
}

/** Removes annotations. */
export function constraintsOf(schema: Schema): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => CONSTRAINTS.has(keyword)))
}

/**
 * Combines two schemas into one that accepts what both accept. Several values of `pattern` and `format` become lists. Rejects
 * combinations without an equivalent schema.
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

export function propertiesOf(schema: Schema): Schema {
  return isSchema(schema['properties']) ? schema['properties'] : {}
}

/** The types that a schema without combinators accepts. */
export function typesOf(schema: Schema): string[] {
  if (schema['type'] !== undefined) return [schema['type']].flat() as string[]
  const has = (...keywords: string[]): boolean => keywords.some((keyword) => schema[keyword] !== undefined)
  if (has('properties', 'required', 'additionalProperties', 'propertyNames')) return ['object']
  if (has('items', 'prefixItems', 'minItems', 'maxItems')) return ['array']
  if (has('pattern', 'format', 'minLength', 'maxLength')) return ['string']
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) return ['number']
  return []
}

/** True when no value can match both schemas. False when unsure. */
export function areDisjoint(left: Schema, right: Schema): boolean {
  const [ours, theirs] = [typesOf(left), typesOf(right)].map((types) =>
    types.map((type) => (type === 'integer' ? 'number' : type)),
  )
  if (ours!.length > 0 && theirs!.length > 0 && !ours!.some((type) => theirs!.includes(type))) return true
  const [values, others] = [valuesOf(left), valuesOf(right)]
  if (values !== null && others !== null) return !values.some((value) => others.includes(value))
  const required = (schema: Schema): string[] => (schema['required'] as string[] | undefined) ?? []
  return required(left).some((name) => {
    const [one, another] = [propertiesOf(left)[name], propertiesOf(right)[name]]
    return required(right).includes(name) && isSchema(one) && isSchema(another) && areDisjoint(one, another)
  })
}

function valuesOf(schema: Schema): string[] | null {
  if (schema['const'] !== undefined) return [JSON.stringify(schema['const'])]
  return Array.isArray(schema['enum']) ? schema['enum'].map((value) => JSON.stringify(value)) : null
}
