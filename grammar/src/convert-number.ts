import type { Conversion } from './conversion.ts'
import { toNumberExpression } from './numbers/number-grammar.ts'
import { NumberLimitsError } from './numbers/number-limits.ts'
import type { Schema } from './schema/json-schema.ts'

/** The expression of the numbers or integers that a schema accepts. */
export function convertNumber(
  { writer, refuse }: Conversion,
  integer: boolean,
  schema: Schema,
  path: string,
): string {
  try {
    const limits = { integer, ...(schema as Record<string, number>) }
    return (
      toNumberExpression(limits, (rule) => writer.add(rule)) ?? refuse(path, 'no number is within its bounds')
    )
  } catch (error) {
    if (error instanceof NumberLimitsError) return refuse(path, error.message)
    throw error
  }
}
