import { toGrammarText } from '@berth/grammar/grammar.ts'
import type { Grammar } from '@berth/grammar/grammar.ts'
import { SchemaError } from '@berth/grammar/schema/json-schema.ts'
import { loosenSchema } from '@berth/grammar/schema/loosen-schema.ts'
import { toText } from '@berth/grammar/string-grammar.ts'
import { WorkBudget } from '@berth/grammar/work-budget.ts'
import { invalid, RequestError } from '../base/errors.ts'
import { createAnswerGrammar, createValueGrammar } from '../calls/call-grammar.ts'
import type { CallFormat, ThoughtFormat } from '../calls/call-format.ts'
import { harmonyFinal, harmonyFormat, harmonyThoughts } from '../calls/harmony-format.ts'
import { convertSchema, invalidSchema, schemaTooComplex } from './convert-schema.ts'
import { createToolGrammars, shapeSteps } from './tool-grammars.ts'
import { takesNothing } from './tools.ts'
import type { SelectedTools } from './tools.ts'

/** The schema that an answer must match. */
export interface AnswerFormat {
  schema: unknown
  /** The member of the body with it */
  param: string
  /** false to ignore keywords that no grammar has, as OpenAI's API does without `strict` */
  strict: boolean
}

/** All that the grammar of an answer depends on. A thread can get it. */
export interface RuleSource {
  /** null for free text */
  format: AnswerFormat | null
  tools: SelectedTools | null
  calls: CallFormat | 'harmony' | null
  thoughts: ThoughtFormat | null
  startsInThought: boolean
}

/** A grammar for llama.cpp, and the body's member that demands it. */
export interface WrittenRules {
  text: string
  param: string
}

/** Steps of a few milliseconds, which suffice for ordinary schemas, and those for any schema */
export const workSteps = { usual: 50_000, most: 2_000_000 } as const

/** Writes the grammar of an answer. Throws a RequestError. With `mayRepeat`, too little work is an error. */
export function writeRules(source: RuleSource, work: { steps: number; mayRepeat: boolean }): WrittenRules {
  try {
    return write(source, work)
  } catch (error) {
    // The grammar around those of the schemas is too large.
    if (error instanceof SchemaError) throw invalid('tools', error.message, schemaTooComplex)
    throw error
  }
}

function write(
  { format, tools, calls, ...thinking }: RuleSource,
  { steps, mayRepeat }: { steps: number; mayRepeat: boolean },
): WrittenRules {
  const budget = new WorkBudget(steps)
  const isHarmony = calls === 'harmony'
  const thinks = isHarmony ? { thoughts: harmonyThoughts, startsInThought: false } : thinking
  const value = format === null ? null : convertFormat(format, budget)
  const before = isHarmony ? harmonyFinal : ''
  if (tools === null || calls === null) {
    return { param: format!.param, text: toGrammarText(createValueGrammar(value!, thinks, before)) }
  }
  const convert = createToolGrammars(budget, mayRepeat)
  const grammar = createAnswerGrammar(
    {
      format: isHarmony ? harmonyFormat : calls,
      tools: tools.callable,
      most: tools.maxCalls,
      ...thinks,
      otherwise: tools.mustCall
        ? 'call'
        : value === null
          ? 'text'
          : { ...value, start: `${before === '' ? '' : toText(before)} ${value.start}` },
    },
    (schema, name, prefix) => {
      const tool = tools.callable.find((each) => each.name === name)!
      if (schema === tool.parameters && takesNothing(schema)) return { rules: new Map(), start: '"{}"' }
      return convert(schema, tool.param, { strict: tool.strict, prefix })
    },
    new WorkBudget(shapeSteps),
  )
  return { text: toGrammarText(grammar), param: format?.param ?? 'tools' }
}

function convertFormat({ schema, param, strict }: AnswerFormat, budget: WorkBudget): Grammar {
  const options = { prefix: 'v', budget }
  try {
    return convertSchema(schema, param, options)
  } catch (error) {
    if (strict || !(error instanceof RequestError) || error.code !== invalidSchema) throw error
    return convertSchema(loosenSchema(schema, 'known'), param, options)
  }
}

/** The result of `writeRules` in a thread, where errors lose their class. */
export type RuleOutcome =
  | { rules: WrittenRules }
  | { problem: Pick<RequestError, 'message' | 'code' | 'param'> }

/** Writes the grammar of an answer, however much work that takes. */
export function writeAnyRules(source: RuleSource): RuleOutcome {
  try {
    return { rules: writeRules(source, { steps: workSteps.most, mayRepeat: false }) }
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    const { message, code, param } = error
    return { problem: { message, code, param } }
  }
}
