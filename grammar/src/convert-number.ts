import type { Conversion } from './conversion.ts'
import { toNumberExpression } from './numbers/number-grammar.ts'
import { NumberLimitsError } from './numbers/number-limits.ts'
import type { Schema } from './schema/json-schema.ts'

const numberKeywords = ['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']
/** The steps of a rule with its digits */
const stepsPerRule = 20

/** The expression of the numbers or integers that a schema accepts. */
export function convertNumber(
  { writer, refuse, spend }: Conversion,
  integer: boolean,
  schema: Schema,
  path: string,
): string {
  try {
    const limits = { integer, ...(schema as Record<string, number>) }
    const keyword = numberKeywords.find((name) => schema[name] !== undefined) ?? 'type'
    writer.describe(path, keyword)
    const add = (rule: string): string => {
      spend(stepsPerRule, path, keyword)
      return writer.add(rule)
    }
    return toNumberExpression(limits, add) ?? refuse(path, 'no number is within its bounds')
  } catch (error) {
    if (error instanceof NumberLimitsError) return refuse(path, error.message)
    throw error
  }
}
