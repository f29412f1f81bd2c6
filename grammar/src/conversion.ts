import type { GrammarWriter } from './grammar-writer.ts'
import type { JsonRules } from './json-rules.ts'
import type { Refuse } from './schema/json-schema.ts'

/** What the conversions of all parts of a schema share. */
export interface Conversion {
  writer: GrammarWriter
  json: JsonRules
  refuse: Refuse
  /** Returns the name of the rule for a part of the schema. */
  convert: (schema: unknown, path: string) => string
}
