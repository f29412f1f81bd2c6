import { createParser } from 'eventsource-parser'
import { ApiError } from '../../api/client.ts'
import type { ErrorCode } from '../../api/client.ts'
import { text } from '../../text/index.ts'
import { addChunk } from './add-chunk.ts'
import type { ChatChunk } from './add-chunk.ts'
import { pendingAnswer } from './answer.ts'
import type { Answer } from './answer.ts'

/** An error of an engine in a stream. Its code may be one of the API, or anything else. */
interface EngineError {
  message?: string
  code?: ErrorCode | number | null
  type?: ErrorCode
}

/** Reads a streamed completion as an answer that grows. `startedAt` is the time of the request. */
export async function* readAnswer(
  body: ReadableStream<Uint8Array>,
  startedAt: number,
): AsyncGenerator<Answer> {
  let answer = pendingAnswer
  for await (const chunks of readChunks(body)) {
    const afterMs = performance.now() - startedAt
    answer = chunks.reduce((before, chunk) => addChunk(before, chunk, afterMs), answer)
    yield answer
  }
}

/** Reads a streamed completion up to `[DONE]`, in batches. Throws ApiError on errors and early ends. */
export async function* readChunks(body: ReadableStream<Uint8Array>): AsyncGenerator<ChatChunk[]> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let events: string[] = []
  const parser = createParser({ onEvent: ({ data }) => events.push(data) })
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw brokenOff()
      })
      if (done) throw brokenOff()
      parser.feed(decoder.decode(value, { stream: true }))
      const ended = events.indexOf('[DONE]')
      yield (ended === -1 ? events : events.slice(0, ended)).map(parseChunk)
      if (ended !== -1) return
      events = []
    }
  } finally {
    // Rejects with the original error if the stream has failed.
    reader.cancel().catch(() => {})
  }
}

function parseChunk(data: string): ChatChunk {
  let chunk: unknown
  try {
    chunk = JSON.parse(data)
  } catch {
    throw brokenOff()
  }
  if (typeof chunk !== 'object' || chunk === null) throw brokenOff()
  if ('error' in chunk && chunk.error) {
    const { message, code, type } = chunk.error as EngineError
    throw new ApiError({
      status: 500,
      code: typeof code === 'string' ? code : (type ?? 'engine_error'),
      detail: message ?? text.answers.brokenOff,
    })
  }
  return chunk
}

function brokenOff() {
  return new ApiError({ status: 0, code: 'broken_off', detail: text.answers.brokenOff })
}
