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
  const examples = z.globalRegistry.get(zodSchema)?.examples
  if (examples !== undefined) jsonSchema.examples = examples as unknown[]
  // Zod describes an integer by the range in which JavaScript's numbers are exact.
  if (jsonSchema.type === 'integer') {
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    jsonSchema.format ??= 'int64'
  }
  // Zod adds the regular expression of each format.
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
}
