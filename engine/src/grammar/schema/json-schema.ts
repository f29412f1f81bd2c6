import { invalid } from '../../base/errors.ts'

export type Schema = Record<string, unknown>

/** Rejects a schema with a 400. `path` is a JSON pointer to the offending part. */
export type Refuse = (path: string, reason: string) => never

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
