import type { Spend, WorkBudget } from '../work-budget.ts'

export type Schema = Record<string, unknown>

/** A schema that no grammar expresses; the message names the keyword and its place. */
export class SchemaError extends Error {}

/** A schema whose conversion, or whose grammar, would take too long. */
export class SchemaTooComplexError extends SchemaError {}

/** Throws a SchemaError. `path` is a JSON pointer to the offending part. */
export type Refuse = (path: string, reason: string) => never

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const refuseSchema: Refuse = (path, reason) => {
  throw new SchemaError(describeProblem(path, reason))
}

/** Returns the function that takes steps of a budget. */
export function spendFrom(budget: WorkBudget): Spend {
  return (steps, path, keyword) => {
    if (budget.take(steps)) return
    throw tooComplex(path, keyword)
  }
}

export function tooComplex(path: string, keyword: string): SchemaTooComplexError {
  return new SchemaTooComplexError(describeProblem(path, `"${keyword}" makes the schema too complex`))
}

const describeProblem = (path: string, reason: string): string =>
  `The schema is not supported at ${path.slice(0, 200)}: ${reason}.`

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
