import { z } from 'zod'
import { invalid } from '../base/errors.ts'
import { samplingFields } from './sampling.ts'

const content = z.union(
  [
    z.string(),
    z.array(z.looseObject({ type: z.string(), text: z.string().nullish(), refusal: z.string().nullish() })),
  ],
  'must be a text or a list of parts, each with a type',
)

const toolCall = z.object({
  id: z.string(),
  type: z.literal('function').nullish(),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
})

const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content }),
  z.object({ role: z.literal('developer'), content }),
  z.object({ role: z.literal('user'), content }),
  z.object({
    role: z.literal('assistant'),
    content: content.nullish(),
    tool_calls: z.array(toolCall).max(128).nullish(),
    function_call: toolCall.shape.function.nullish(),
    /** The thought before this answer, by either of the names in use */
    reasoning_content: z.string().nullish(),
    reasoning: z.string().nullish(),
  }),
  z.object({ role: z.literal('tool'), content, tool_call_id: z.string() }),
  z.object({ role: z.literal('function'), content: content.nullish(), name: z.string() }),
])

const functionName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"')

const functionDefinition = z.object({
  name: functionName,
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  /** true to refuse parameters that the grammar can't enforce */
  strict: z.boolean().nullish(),
})

const tool = z.object({ type: z.literal('function'), function: functionDefinition })

const namedFunction = z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) })

const toolChoice = z.union(
  [
    z.enum(['auto', 'none', 'required']),
    namedFunction,
    z.object({
      type: z.literal('allowed_tools'),
      allowed_tools: z.object({
        mode: z.enum(['auto', 'required']),
        tools: z.array(namedFunction).min(1).max(128),
      }),
    }),
  ],
  'must be auto, none, required, a function or allowed_tools',
)

/** Unsupported fields that change an answer's meaning, with the values that demand nothing. */
const unsupportedFields: Readonly<Record<string, (value: unknown) => boolean>> = {
  logit_bias: (value) => typeof value === 'object' && Object.keys(value ?? {}).length === 0,
  modalities: (value) => Array.isArray(value) && value.every((modality) => modality === 'text'),
  audio: () => false,
  guided_json: () => false,
  guided_regex: () => false,
  guided_choice: () => false,
  guided_grammar: () => false,
  structured_outputs: () => false,
  // Other servers take schemas and grammars here.
  format: (value) => value === '',
  grammar: (value) => value === '',
  json_schema: () => false,
  schema: () => false,
  truncate_prompt_tokens: () => false,
}

/** Rejects a request whose answer would silently mean something else. Throws a RequestError (400). */
export function refuseUnsupported(body: unknown, fields = unsupportedFields): void {
  if (typeof body !== 'object' || body === null) return
  for (const [name, value] of Object.entries(body)) {
    if (value === null || !Object.hasOwn(fields, name)) continue
    if (fields[name]!(value)) continue
    throw invalid(name, `${name} is not supported by this engine. Omit it.`, 'unsupported_parameter')
  }
}

/** The body of POST /v1/chat/completions. Other unknown fields are dropped, and null means the default. */
export const chatRequestBody = z.object({
  model: z.string(),
  messages: z.array(message).min(1, 'must hold at least one message').max(10_000),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  ...samplingFields,
  n: z.int().min(1).max(16).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  response_format: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object'), schema: z.unknown().optional() }),
      z
        .object({
          type: z.literal('json_schema'),
          json_schema: z.object({ schema: z.unknown(), strict: z.boolean().nullish() }).nullish(),
          schema: z.unknown().optional(),
        })
        .refine((format) => format.json_schema != null || format.schema !== undefined, {
          path: ['json_schema'],
          message: 'is required',
        }),
    ])
    .nullish(),
  tools: z.array(tool).max(128).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
  reasoning_effort: z.string().nullish(),
  functions: z.array(functionDefinition).min(1).max(128).nullish(),
  function_call: z.union([z.enum(['auto', 'none']), z.object({ name: z.string() })]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .object({ include_usage: z.boolean().nullish(), continuous_usage_stats: z.boolean().nullish() })
    .nullish(),
})

/** A request that may use OpenAI's deprecated functions instead of tools. */
export type LegacyChatRequest = z.infer<typeof chatRequestBody>
export type ChatMessage = Exclude<LegacyChatRequest['messages'][number], { role: 'function' }>

export interface ChatRequest extends Omit<LegacyChatRequest, 'messages' | 'functions' | 'function_call'> {
  messages: ChatMessage[]
  /** True when the answer reports a call as `function_call` */
  usesFunctions?: boolean
}
