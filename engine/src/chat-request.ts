import { z } from 'zod'
import { invalid } from './errors.ts'
import { isTooDeep } from './json-schema.ts'

const Content = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string(), text: z.string().nullish(), refusal: z.string().nullish() })),
])

const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function').nullish(),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
})

const Message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: Content }),
  z.object({ role: z.literal('developer'), content: Content }),
  z.object({ role: z.literal('user'), content: Content }),
  z.object({
    role: z.literal('assistant'),
    content: Content.nullish(),
    tool_calls: z.array(ToolCall).max(128).nullish(),
    function_call: ToolCall.shape.function.nullish(),
  }),
  z.object({ role: z.literal('tool'), content: Content, tool_call_id: z.string() }),
  z.object({ role: z.literal('function'), content: Content.nullish(), name: z.string() }),
])

const FunctionName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"')

const Function = z.object({
  name: FunctionName,
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
})

const Tool = z.object({ type: z.literal('function'), function: Function })

const Stop = z.string().min(1, 'must not be empty').max(1000)

/** The body of POST /v1/chat/completions. Unknown fields are dropped, and null means the default. */
export const ChatRequestBody = z.object({
  model: z.string(),
  messages: z.array(Message).min(1, 'must hold at least one message').max(10_000),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().min(0).max(1_000_000).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  stop: z.union([Stop, z.array(Stop).max(4)]).nullish(),
  seed: z.int().nullish(),
  n: z.int().min(1).max(16).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  response_format: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object') }),
      z.object({ type: z.literal('json_schema'), json_schema: z.object({ schema: z.unknown() }) }),
    ])
    .nullish(),
  tools: z.array(Tool).max(128).nullish(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  functions: z.array(Function).min(1).max(128).nullish(),
  function_call: z.union([z.enum(['auto', 'none']), z.object({ name: z.string() })]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
})

/** A request that may use OpenAI's deprecated functions instead of tools. */
export type LegacyChatRequest = z.infer<typeof ChatRequestBody>
export type ChatMessage = Exclude<LegacyChatRequest['messages'][number], { role: 'function' }>

/** A validated chat request. */
export interface ChatRequest extends Omit<LegacyChatRequest, 'messages' | 'functions' | 'function_call'> {
  messages: ChatMessage[]
  /** True when the answer reports a call as `function_call` */
  usesFunctions?: boolean
}

/** Validates a body. Throws a RequestError (400) that names the first invalid field. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  if (isTooDeep(body)) throw invalid('', 'The request body is nested too deeply.')
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const path = (issue?.path ?? []).map(String).join('.').slice(0, 200)
  throw invalid(path, path === '' ? 'The request body must be a JSON object.' : `${path}: ${issue?.message}.`)
}
