import { formatPatterns } from '../strings/formats.ts'
import { isSchema, propertiesOf } from './json-schema.ts'
import type { Schema } from './json-schema.ts'
import { isKnownKeyword } from './keywords.ts'

/** `known` drops what the grammar never supports, `shape` keeps only names, types and values. */
export type Looseness = 'known' | 'shape'

const shapeKeywords = new Set([
  'type',
  'enum',
  'const',
  'anyOf',
  'oneOf',
  '$ref',
  '$defs',
  'definitions',
  'properties',
  'required',
  'additionalProperties',
  'items',
])

/** Returns a schema that accepts at least what `schema` does, for callers that ask for no strict match. */
export function loosenSchema(schema: unknown, looseness: Looseness): unknown {
  if (!isSchema(schema)) return schema
  const loose: Schema = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (!isKnownKeyword(keyword)) continue
    if (keyword === 'format' && !(typeof value === 'string' && Object.hasOwn(formatPatterns, value))) continue
    if (looseness === 'shape' && !shapeKeywords.has(keyword)) continue
    loose[keyword] = loosenValue(keyword, value, looseness)
  }
  const { oneOf, required, ...rest } = loose
  return {
    ...rest,
    // Alternatives that overlap are no problem if several may match.
    ...(oneOf !== undefined && rest['anyOf'] === undefined && { anyOf: oneOf }),
    ...(Array.isArray(required) && {
      required: required.filter(
        (name) => typeof name === 'string' && Object.hasOwn(propertiesOf(schema), name),
      ),
    }),
  }
}

function loosenValue(keyword: string, value: unknown, looseness: Looseness): unknown {
  switch (keyword) {
    case 'properties':
    case '$defs':
    case 'definitions':
      return isSchema(value)
        ? Object.fromEntries(
            Object.entries(value).map(([name, part]) => [name, loosenSchema(part, looseness)]),
          )
        : value
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
    case 'prefixItems':
      return Array.isArray(value) ? value.map((part) => loosenSchema(part, looseness)) : value
    case 'items':
    case 'additionalProperties':
    case 'propertyNames':
      return loosenSchema(value, looseness)
    default:
      return value
  }
}
