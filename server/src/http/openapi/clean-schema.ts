import { z } from 'zod'

/** Completes a JSON schema that Zod wrote, and removes what tells a reader nothing. */
export function cleanSchema({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes
  jsonSchema: z.core.JSONSchema.BaseSchema
}): void {
  // Zod omits the default of a transformed query value, and the examples of a transformed body.
  const { def } = zodSchema._zod
  if (def.type === 'default') jsonSchema.default ??= def.defaultValue
  const { examples, default: fallback } = z.globalRegistry.get(zodSchema) ?? {}
  if (examples !== undefined) jsonSchema.examples = examples as unknown[]
  if (fallback !== undefined) jsonSchema.default = fallback
  if (jsonSchema.minLength === 0) delete jsonSchema.minLength
  mergeNull(jsonSchema)
  // Zod describes an integer by the range in which JavaScript's numbers are exact.
  if ([jsonSchema.type].flat().includes('integer')) {
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    jsonSchema.format ??= 'int64'
  }
  // Zod adds the regular expression of each format.
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
}

/** Writes null as one more choice or type, which readers and generators understand better than nesting. */
function mergeNull(jsonSchema: z.core.JSONSchema.BaseSchema): void {
  const [one, other, ...others] = jsonSchema.anyOf ?? []
  if (one === undefined || other?.type !== 'null' || others.length > 0) return
  const { anyOf, type, enum: values, ...rest } = one
  if (anyOf !== undefined) {
    Object.assign(jsonSchema, { ...rest, ...jsonSchema, anyOf: [...anyOf, other] })
  } else if (typeof type === 'string' && type !== 'object') {
    delete jsonSchema.anyOf
    Object.assign(jsonSchema, { ...rest, ...jsonSchema, type: [type, 'null'] })
    if (values !== undefined) jsonSchema.enum = [...values, null]
  }
}
