import { isSchema, propertiesOf, typesOf } from './json-schema.ts'
import type { Schema } from './json-schema.ts'

/** True when no value can match two of the schemas. False when unsure. */
export function areAllDisjoint(schemas: readonly Schema[]): boolean {
  return schemas.every((one, index) => schemas.slice(index + 1).every((other) => areDisjoint(one, other)))
}

/** True when no value can match both schemas. False when unsure. */
function areDisjoint(left: Schema, right: Schema): boolean {
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
