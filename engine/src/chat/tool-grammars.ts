import { toGrammar } from '@berth/grammar/grammar.ts'
import type { Grammar } from '@berth/grammar/grammar.ts'
import { SchemaError } from '@berth/grammar/schema/json-schema.ts'
import type { Schema } from '@berth/grammar/schema/json-schema.ts'
import { loosenSchema } from '@berth/grammar/schema/loosen-schema.ts'
import { convertSchema } from './convert-schema.ts'

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
    if (strict) return convertSchema(parameters, param, prefix)
    const isLate = performance.now() > deadline
    const attempts = [
      ...(isLate ? [] : [() => parameters, () => loosenSchema(parameters, 'known')]),
      () => loosenSchema(parameters, 'shape'),
    ]
    for (const attempt of attempts) {
      const grammar = tryGrammar(attempt(), prefix)
      if (grammar !== null) return grammar
    }
    return toGrammar({ type: 'object' }, prefix)
  }
}

/** null for a schema that has no grammar */
function tryGrammar(schema: unknown, prefix: string): Grammar | null {
  try {
    return toGrammar(schema, prefix)
  } catch (error) {
    if (error instanceof SchemaError) return null
    throw error
  }
}
