import { DeadlineWorker, JobAbortedError } from '@berth/grammar/deadline-worker.ts'
import { invalid, RequestError } from '../base/errors.ts'
import { MarkedAnswerReader } from '../calls/answer-reader.ts'
import type { AnswerReader } from '../calls/answer-reader.ts'
import { HarmonyReader } from '../calls/harmony-reader.ts'
import type { ModelTemplate } from '../template/model-template.ts'
import type { ChatRequest } from './chat-request.ts'
import { schemaTooComplex } from './convert-schema.ts'
import type { SelectedTool, SelectedTools } from './tools.ts'
import { workSteps, writeRules } from './write-rules.ts'
import type { AnswerFormat, RuleOutcome, RuleSource, WrittenRules } from './write-rules.ts'

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
 * as trained, unless it must call or a tool is strict. Rejects with a RequestError.
 */
export async function createRules(
  request: ChatRequest,
  template: ModelTemplate,
  { tools, prompt }: AnswerContext,
): Promise<WrittenRules | null> {
  const format = readFormat(request)
  const isBound = tools !== null && (tools.mustCall || tools.callable.some(({ strict }) => strict))
  if (!isBound && format === null) return null
  if (format !== null) checkSize(format)
  const source: RuleSource = {
    format,
    tools: tools === null ? null : { ...tools, callable: tools.callable.map(limitSize) },
    calls: template.calls,
    thoughts: template.thoughts,
    startsInThought: opensThought(template, prompt),
  }
  try {
    return writeRules(source, { steps: workSteps.usual, mayRepeat: true })
  } catch (error) {
    if (!(error instanceof RequestError) || error.code !== schemaTooComplex) throw error
    return writeInThread(source)
  }
}

/** Long work must not block the requests of others. */
const thread = new DeadlineWorker<RuleSource, RuleOutcome>(
  new URL('./rules-thread.ts', import.meta.url),
  5000,
)

async function writeInThread(source: RuleSource): Promise<WrittenRules> {
  const param = source.format?.param ?? 'tools'
  const outcome = await thread.run(source).catch((error: unknown) => {
    if (!(error instanceof JobAbortedError)) throw error
    throw invalid(param, `The schema is not supported: its conversion ${error.message}.`, schemaTooComplex)
  })
  if ('rules' in outcome) return outcome.rules
  const { message, code, param: place } = outcome.problem
  throw invalid(place ?? param, message, code ?? undefined)
}

/** The most characters of a schema */
const maxSchemaLength = 256 * 1024

function checkSize({ schema, param }: { schema: unknown; param: string }): void {
  const { length } = JSON.stringify(schema) ?? ''
  if (length <= maxSchemaLength) return
  throw invalid(
    param,
    `The schema is not supported: it has ${length} characters, and may have ${maxSchemaLength}.`,
    schemaTooComplex,
  )
}

/** A tool whose schema is too long takes any object, unless it is strict. */
function limitSize(tool: SelectedTool): SelectedTool {
  if (tool.strict) checkSize({ schema: tool.parameters, param: tool.param })
  else if (JSON.stringify(tool.parameters).length > maxSchemaLength) {
    return { ...tool, parameters: { type: 'object', additionalProperties: true } }
  }
  return tool
}

/** True if the prompt has opened a thought and not closed it. */
function opensThought({ thoughts }: ModelTemplate, prompt: string): boolean {
  return thoughts !== null && prompt.trimEnd().endsWith(thoughts.start)
}

/** The schema that an answer must match; null for free text */
function readFormat({ response_format: format }: ChatRequest): AnswerFormat | null {
  if (format == null || format.type === 'text') return null
  if (format.type === 'json_schema' && format.json_schema != null) {
    const { schema, strict } = format.json_schema
    return { schema, param: 'response_format.json_schema.schema', strict: strict === true }
  }
  return { schema: format.schema ?? { type: 'object' }, param: 'response_format.schema', strict: true }
}
