import { isSchema } from './json-schema.ts'
import type { Refuse, Schema } from './json-schema.ts'

/** Annotations, which do not constrain generation. */
const annotations = new Set([
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
const constraints = new Set([
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
const jsonTypes = new Set(['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'])

/** True for a keyword that constrains or describes, and that the grammar can have */
export function isKnownKeyword(keyword: string): boolean {
  return annotations.has(keyword) || constraints.has(keyword)
}

/** Rejects unknown keywords by name and keywords with values of the wrong type. */
export function checkKeywords(schema: Schema, path: string, refuse: Refuse): void {
  for (const [keyword, value] of Object.entries(schema)) {
    if (annotations.has(keyword)) continue
    if (!constraints.has(keyword)) refuse(path, `the keyword "${keyword.slice(0, 64)}" is not supported`)
    const problem = findProblem(keyword, value)
    if (problem !== null) refuse(path, `"${keyword}" ${problem}`)
  }
}

/** What is wrong with the value of a keyword; null if nothing is, or the keyword is unknown. */
export function findProblem(keyword: string, value: unknown): string | null {
  switch (keyword) {
    case 'type':
      return [value].flat().every((type) => typeof type === 'string' && jsonTypes.has(type))
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

/** Removes annotations. */
export function constraintsOf(schema: Schema): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => constraints.has(keyword)))
}
