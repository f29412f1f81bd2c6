import { toGrammar } from '@berth/grammar/grammar.ts'
import type { Grammar } from '@berth/grammar/grammar.ts'
import { SchemaError, SchemaTooComplexError } from '@berth/grammar/schema/json-schema.ts'
import type { WorkBudget } from '@berth/grammar/work-budget.ts'
import { invalid } from '../base/errors.ts'

/** The code of a schema that needs more work than it got */
export const schemaTooComplex = 'schema_too_complex'
/** The code of a schema that has no grammar */
export const invalidSchema = 'invalid_json_schema'

/** Converts the schema at `param` of the body. Throws a RequestError (400) that names the keyword. */
export function convertSchema(
  schema: unknown,
  param: string,
  options: { prefix: string; budget: WorkBudget },
): Grammar {
  try {
    return toGrammar(schema, options)
  } catch (error) {
    if (error instanceof SchemaTooComplexError) throw invalid(param, error.message, schemaTooComplex)
    if (error instanceof SchemaError) throw invalid(param, error.message, invalidSchema)
    throw error
  }
}
