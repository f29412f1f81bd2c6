import type { SpendSteps } from '../work-budget.ts'
import { isSchema, propertiesOf, typesOf } from './json-schema.ts'
import type { Schema } from './json-schema.ts'

/** True when no value can match two of the schemas. False when unsure. */
export function areAllDisjoint(schemas: readonly Schema[], spend: SpendSteps): boolean {
  return schemas.every((one, index) =>
    schemas.slice(index + 1).every((other) => areDisjoint(one, other, spend)),
  )
}

/** True when no value can match both schemas. False when unsure. */
function areDisjoint(left: Schema, right: Schema, spend: SpendSteps): boolean {
  const [ours, theirs] = [numericTypesOf(left), numericTypesOf(right)]
  spend(20 + ours.length * theirs.length)
  if (ours.length > 0 && theirs.length > 0 && !ours.some((type) => theirs.includes(type))) return true
  const [values, others] = [valuesOf(left, spend), valuesOf(right, spend)]
  if (values !== null && others !== null) return ![...values].some((value) => others.has(value))
  const required = (schema: Schema): string[] => (schema['required'] as string[] | undefined) ?? []
  const both = new Set(required(right))
  spend((required(left).length + both.size) * 4)
  return required(left).some((name) => {
    const [one, another] = [propertiesOf(left)[name], propertiesOf(right)[name]]
    return both.has(name) && isSchema(one) && isSchema(another) && areDisjoint(one, another, spend)
  })
}

/**
 * The most schemas that may begin the same value. While the model writes one, llama.cpp follows all of them,
 * and as many again for each that it contains.
 */
export function countOverlapping(schemas: readonly Schema[], spend: SpendSteps): number {
  const counts = new Map<string, number>()
  /** Schemas that may begin like any other of their type, or of any type */
  const open = new Map<string, number>()
  const count = (of: Map<string, number>, key: string): unknown => of.set(key, (of.get(key) ?? 0) + 1)
  for (const schema of schemas) {
    const values = valuesOf(schema, spend)
    const types = numericTypesOf(schema)
    spend(10 + types.length)
    if (values !== null) for (const value of values) count(counts, value)
    else if (types.length === 0) count(open, 'any')
    else {
      for (const type of new Set(types)) {
        const first = type === 'object' ? firstMemberOf(schema, spend) : null
        if (first === null) count(open, type)
        else for (const member of first) count(counts, member)
      }
    }
  }
  const any = open.get('any') ?? 0
  return any + Math.max(0, ...open.values()) + Math.max(0, ...counts.values())
}

/** The beginnings of an object whose first member is required, with each value of a constant; else null. */
function firstMemberOf(schema: Schema, spend: SpendSteps): string[] | null {
  const [name] = Object.keys(propertiesOf(schema))
  if (name === undefined || !((schema['required'] as string[] | undefined) ?? []).includes(name)) return null
  const property = propertiesOf(schema)[name]
  const values = isSchema(property) ? valuesOf(property, spend) : null
  return values === null ? [`{${name}`] : [...values].map((value) => `{${name}:${value}`)
}

function numericTypesOf(schema: Schema): string[] {
  return typesOf(schema).map((type) => (type === 'integer' ? 'number' : type))
}

function valuesOf(schema: Schema, spend: SpendSteps): Set<string> | null {
  const values = schema['const'] === undefined ? schema['enum'] : [schema['const']]
  if (!Array.isArray(values)) return null
  return new Set(
    values.map((value) => {
      const text = JSON.stringify(value)
      spend(2 + text.length / 8)
      return text
    }),
  )
}
