import { RequestError } from '../base/errors.ts'
import { toGrammar } from '../grammar/grammar.ts'
import type { Grammar } from '../grammar/grammar.ts'
import type { Schema } from '../grammar/schema/json-schema.ts'
import { loosenSchema } from '../grammar/schema/loosen-schema.ts'

/** Tools after this time only get their shape, because converting blocks the engine. */
const budgetMilliseconds = 500

/**
 * Returns a function that converts one tool after another. With `strict`, throws a RequestError for keywords
 * that grammars can't match. Otherwise omits them: the model still sees the whole schema, as with OpenAI.
 */
export function createToolGrammars(): (
  parameters: Schema,
  param: string,
  options: { strict: boolean; prefix: string },
) => Grammar {
  const deadline = performance.now() + budgetMilliseconds
  return (parameters, param, { strict, prefix }) => {
    if (strict) return toGrammar(parameters, param, prefix)
    const isLate = performance.now() > deadline
    const attempts = [
      ...(isLate ? [] : [() => parameters, () => loosenSchema(parameters, 'known')]),
      () => loosenSchema(parameters, 'shape'),
    ]
    for (const attempt of attempts) {
      const grammar = tryGrammar(attempt(), param, prefix)
      if (grammar !== null) return grammar
    }
    return toGrammar({ type: 'object' }, param, prefix)
  }
}

/** null for a schema that has no grammar */
function tryGrammar(schema: unknown, param: string, prefix: string): Grammar | null {
  try {
    return toGrammar(schema, param, prefix)
  } catch (error) {
    if (error instanceof RequestError) return null
    throw error
  }
}
