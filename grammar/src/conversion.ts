import type { GrammarWriter } from './grammar-writer.ts'
import type { JsonRules } from './json-rules.ts'
import type { Refuse } from './schema/json-schema.ts'
import type { Spend, WorkBudget } from './work-budget.ts'

/** What the conversions of all parts of a schema share. */
export interface Conversion {
  writer: GrammarWriter
  json: JsonRules
  refuse: Refuse
  budget: WorkBudget
  spend: Spend
  /** The expressions of strings with patterns or formats, by both and the lengths */
  strings: Map<string, string>
  /** Runs the conversion of alternatives; `ways` of them may begin the same value. */
  diverge: (ways: number, path: string, keyword: string, write: () => string) => string
  /** Returns the name of the rule for a part of the schema. */
  convert: (schema: unknown, path: string) => string
}
