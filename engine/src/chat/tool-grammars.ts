import { toGrammar } from '@berth/grammar/grammar.ts'
import type { Grammar } from '@berth/grammar/grammar.ts'
import { SchemaError, SchemaTooComplexError } from '@berth/grammar/schema/json-schema.ts'
import type { Schema } from '@berth/grammar/schema/json-schema.ts'
import { loosenSchema } from '@berth/grammar/schema/loosen-schema.ts'
import { WorkBudget } from '@berth/grammar/work-budget.ts'
import { invalid } from '../base/errors.ts'
import { convertSchema, schemaTooComplex } from './convert-schema.ts'

/** The steps for what must succeed: the shapes of tools whose exact grammars take too many, and the calls */
export const shapeSteps = 200_000

/**
 * Returns a function that converts one tool after another. With `strict`, throws a RequestError for keywords
 * that grammars can't match. Otherwise omits them: the model still sees the whole schema, as with OpenAI.
 * A tool that the budget does not suffice for gets its shape, or is a 400 if `mayRepeat`.
 */
export function createToolGrammars(
  budget: WorkBudget,
  mayRepeat: boolean,
): (parameters: Schema, param: string, options: { strict: boolean; prefix: string }) => Grammar {
  const forShapes = new WorkBudget(shapeSteps)
  return (parameters, param, { strict, prefix }) => {
    if (strict) return convertSchema(parameters, param, { prefix, budget })
    /** null for a schema that has no grammar */
    const attempt = (schema: unknown, budget: WorkBudget): Grammar | null => {
      try {
        return toGrammar(schema, { prefix, budget })
      } catch (error) {
        if (error instanceof SchemaTooComplexError && mayRepeat) {
          throw invalid(param, error.message, schemaTooComplex)
        }
        if (error instanceof SchemaError) return null
        throw error
      }
    }
    return (
      attempt(parameters, budget) ??
      attempt(loosenSchema(parameters, 'known'), budget) ??
      attempt(loosenSchema(parameters, 'shape'), forShapes) ??
      toGrammar({ type: 'object' }, { prefix })
    )
  }
}
