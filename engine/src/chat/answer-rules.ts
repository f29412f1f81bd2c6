import { MarkedAnswerReader } from '../calls/answer-reader.ts'
import type { AnswerReader } from '../calls/answer-reader.ts'
import { createAnswerGrammar, createValueGrammar } from '../calls/call-grammar.ts'
import { HarmonyReader } from '../calls/harmony-reader.ts'
import { harmonyFinal, harmonyFormat, harmonyThoughts } from '../calls/harmony-format.ts'
import type { Grammar } from '@berth/grammar/grammar.ts'
import type { ChatRequest } from './chat-request.ts'
import { convertSchema } from './convert-schema.ts'
import type { ModelTemplate } from '../template/model-template.ts'
import { createToolGrammars } from './tool-grammars.ts'
import { takesNothing } from './tools.ts'
import type { SelectedTools } from './tools.ts'

/** What an answer depends on beside the model: the tools of the request, and how its prompt ends. */
interface AnswerContext {
  tools: SelectedTools | null
  prompt: string
}

/** The reader of an answer in the model's own format. */
export function createReader(template: ModelTemplate, { tools, prompt }: AnswerContext): AnswerReader {
  const known = new Map(tools?.callable.map(({ name, parameters }) => [name, parameters]))
  const most = tools?.maxCalls ?? 0
  if (template.calls === 'harmony') return new HarmonyReader(tools === null ? null : { tools: known, most })
  return new MarkedAnswerReader({
    thoughts: template.thoughts,
    startsInThought: opensThought(template, prompt),
    calls: tools === null || template.calls === null ? null : { format: template.calls, tools: known, most },
  })
}

/**
 * The answer's grammar and the body's member that demands it. Null for a free answer: the model writes calls
 * as trained, unless it must call or a tool is strict.
 */
export function createRules(
  request: ChatRequest,
  template: ModelTemplate,
  { tools, prompt }: AnswerContext,
): { grammar: Grammar; param: string } | null {
  const format = readFormat(request)
  const isBound = tools !== null && (tools.mustCall || tools.callable.some(({ strict }) => strict))
  if (!isBound && format === null) return null
  const isHarmony = template.calls === 'harmony'
  const thinks = isHarmony
    ? { thoughts: harmonyThoughts, startsInThought: false }
    : { thoughts: template.thoughts, startsInThought: opensThought(template, prompt) }
  const value = format === null ? null : convertSchema(format.schema, format.param, 'v')
  const before = isHarmony ? harmonyFinal : ''
  if (tools === null || template.calls === null) {
    return { param: format!.param, grammar: createValueGrammar(value!, thinks, before) }
  }
  const convert = createToolGrammars()
  const grammar = createAnswerGrammar(
    {
      format: template.calls === 'harmony' ? harmonyFormat : template.calls,
      tools: tools.callable,
      most: tools.maxCalls,
      ...thinks,
      otherwise: tools.mustCall
        ? 'call'
        : value === null
          ? 'text'
          : createValueGrammar(value, { thoughts: null, startsInThought: false }, before),
    },
    (schema, name, prefix) => {
      const tool = tools.callable.find((each) => each.name === name)!
      if (schema === tool.parameters && takesNothing(schema)) return { rules: new Map(), start: '"{}"' }
      return convert(schema, tool.param, { strict: tool.strict, prefix })
    },
  )
  return { grammar, param: format?.param ?? 'tools' }
}

/** True if the prompt has opened a thought and not closed it. */
function opensThought({ thoughts }: ModelTemplate, prompt: string): boolean {
  return thoughts !== null && prompt.trimEnd().endsWith(thoughts.start)
}

/** The schema that an answer must match, and the member of the body that asks for it; null for free text. */
function readFormat({ response_format: format }: ChatRequest): { schema: unknown; param: string } | null {
  if (format == null || format.type === 'text') return null
  if (format.type === 'json_schema' && format.json_schema != null) {
    return { schema: format.json_schema.schema, param: 'response_format.json_schema.schema' }
  }
  return { schema: format.schema ?? { type: 'object' }, param: 'response_format.schema' }
}
