import { toGrammar } from '@berth/grammar/grammar.ts'
import type { Grammar } from '@berth/grammar/grammar.ts'
import { SchemaError } from '@berth/grammar/schema/json-schema.ts'
import { invalid } from '../base/errors.ts'

/** Converts the schema at `param` of the body. Throws a RequestError (400) that names an unsupported keyword. */
export function convertSchema(schema: unknown, param: string, prefix: string): Grammar {
  try {
    return toGrammar(schema, prefix)
  } catch (error) {
    if (error instanceof SchemaError) throw invalid(param, error.message, 'invalid_json_schema')
    throw error
  }
}
