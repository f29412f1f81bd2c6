import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { request } from 'undici'
import type { Dispatcher } from 'undici'

/** How a benchmark reaches a model: as its caller does, at this process. */
export interface ModelAddress {
  /** Such as `http://127.0.0.1:8080` */
  origin: string
  /** Those that identify the caller */
  headers: Readonly<Record<string, string>>
  dispatcher: Dispatcher
}

export interface BenchmarkPrompt {
  deploymentId: string
  text: string
  outputTokens: number
}

/** An answered request, in milliseconds and tokens. */
export interface Sample {
  firstToken: number
  /** Between two tokens; null for fewer than two */
  perToken: number | null
  inputTokens: number
  outputTokens: number
}

interface Failure {
  code: string
  message: string
}

/** Asks once, as a stream. Resolves to what was measured, or to the error of the response. */
export async function askModel(
  { origin, headers, dispatcher }: ModelAddress,
  { deploymentId, text, outputTokens }: BenchmarkPrompt,
  signal: AbortSignal,
): Promise<Sample | Failure> {
  const sentAt = performance.now()
  try {
    const { statusCode, body } = await request(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: deploymentId,
        messages: [{ role: 'user', content: text }],
        max_tokens: outputTokens,
        ignore_eos: true,
        stream: true,
        stream_options: { include_usage: true },
      }),
      dispatcher,
      signal,
    })
    if (statusCode !== 200) return readFailure(statusCode, await body.text())
    return await readStream(body, sentAt)
  } catch (error) {
    return { code: signal.aborted ? 'timeout' : 'connection_error', message: String(error) }
  }
}

async function readStream(body: Readable, sentAt: number): Promise<Sample | Failure> {
  let first: number | null = null
  let last = 0
  let usage = { prompt_tokens: 0, completion_tokens: 0 }
  for await (const line of createInterface({ input: body, crlfDelay: Infinity })) {
    if (!line.startsWith('data: {')) continue
    const event = JSON.parse(line.slice('data: '.length))
    if (event.error !== undefined) return { code: event.error.code ?? 'error', message: event.error.message }
    usage = event.usage ?? usage
    const delta = event.choices?.[0]?.delta ?? {}
    // The first event may have the role only.
    if (!Object.entries(delta).some(([name, value]) => name !== 'role' && value)) continue
    last = performance.now()
    first ??= last
  }
  if (first === null) return { code: 'no_answer', message: 'The response had no text.' }
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = usage
  return {
    firstToken: first - sentAt,
    perToken: outputTokens < 2 ? null : (last - first) / (outputTokens - 1),
    inputTokens,
    outputTokens,
  }
}

function readFailure(status: number, text: string): Failure {
  try {
    const { code, message } = JSON.parse(text).error
    return { code: String(code ?? status), message: String(message) }
  } catch {
    return { code: String(status), message: `The response had status ${status}.` }
  }
}
