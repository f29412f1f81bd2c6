import type { ContextOverflow, EngineError, EngineErrorResponse } from '../../ports/engine-failures.ts'

/** What engines write about a request that is longer than their context. Some count no further than that. */
const overflows = [
  // vLLM
  /maximum context length is (?<context>\d+) tokens\. However, your (?:prompt|request) (?:contains|has) (?:(?<request>\d+) (?:input )?tokens)?/,
  /maximum context length is (?<context>\d+) tokens\. However, you requested \d+ tokens \((?<request>\d+) in the/,
  /Input length \((?<request>\d+)\) exceeds model's maximum context length \((?<context>\d+)\)/,
  /prompt \(length (?<request>\d+)\) .*longer than the maximum model length of (?<context>\d+)/,
  // llama-server, which reads a text in one batch to embed or rank it
  /request \((?<request>\d+) tokens\) exceeds the available context size \((?<context>\d+) tokens\)/,
  /input \((?<request>\d+) tokens\) is larger than the max context size \((?<context>\d+) tokens\)/,
  /input \((?<request>\d+) tokens\) is too large to process\..* \(current batch size: (?<context>\d+)\)/,
  // SGLang
  /input \((?<request>\d+) tokens\) is longer than the model's context length \((?<context>\d+) tokens\)/,
  // Transformers in Xinference
  /Prompt length (?<request>\d+) reaches or exceeds context_length (?<context>\d+)/,
]

/** Reads an error about the request's length, or one in FastAPI's shape, `{"detail": …}`; null for others. */
export function readEngineError({ body }: Pick<EngineErrorResponse, 'body'>): EngineError | null {
  const overflow = readOverflow(body)
  if (overflow !== null) return { isModelLost: false, overflow }
  const { detail, error } = parseObject(body)
  const refusal = readRefusal(body)
  if (refusal !== null) return { isModelLost: false, isRefused: true, message: refusal }
  if (error !== undefined || detail === undefined) return null
  return { isModelLost: false, message: typeof detail === 'string' ? detail : JSON.stringify(detail) }
}

/** What llama-server writes if a chat template raises an exception, with the source around it */
const templateRefusal = /(?:Unable to generate parser for this template|While executing \w+ at line)/

/** The sentence of a chat template that refuses a conversation, without its source; null for others. */
function readRefusal(body: string): string | null {
  if (!templateRefusal.test(body)) return null
  const reason = /Jinja Exception: ([^\\"]+)/i.exec(body)?.[1]?.trim()
  const schema = /JSON schema error at ([^\\"]+)/.exec(body)?.[1]?.trim()
  if (schema !== undefined) return `The schema of a tool can't be converted: ${schema}.`
  return `The chat template of the model refuses this conversation${reason === undefined ? '.' : `: ${reason}`}`
}

function readOverflow(body: string): ContextOverflow | null {
  for (const pattern of overflows) {
    const groups = pattern.exec(body)?.groups
    if (groups === undefined) continue
    const { context, request } = groups
    return { contextTokens: Number(context), requestTokens: request === undefined ? null : Number(request) }
  }
  return null
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}
