import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../base/log.ts'
import type { AnswerEnd, UsedTokens } from '../chat/answer.ts'
import { createCollector, createHead, toChunk, toCompletion } from '../chat/completion.ts'
import { toPieceChunk, toUsage, toUsageChunk } from '../chat/completion.ts'
import type { Chunk, CompletionHead } from '../chat/completion.ts'
import { toFunctionChoice, toFunctionChunk } from '../chat/legacy-functions.ts'
import type { PreparedChat } from '../chat/prepare-chat.ts'
import { prefill, writeChoices } from '../chat/write-answer.ts'
import type { ChoiceReader } from '../chat/write-answer.ts'
import type { LoadedModel } from '../model/load-model.ts'
import { toErrorBody, toRequestError } from './errors.ts'
import { openEventStream } from './event-stream.ts'

/** Generates the choices of an answer, whose readers `open` returns. */
type Write = (open: (index: number) => ChoiceReader) => Promise<AnswerEnd>

/** Answers a chat request, complete or as a stream, when a sequence is free. `used` has the counts so far. */
export async function answerChat(
  loaded: LoadedModel,
  prepared: PreparedChat,
  { used, request, reply, log }: { used: UsedTokens; request: FastifyRequest; reply: FastifyReply; log: Log },
): Promise<void> {
  const pool = loaded.chat!.pool
  const signal = request.left
  const slot = await pool.acquire({ tokens: prepared.prompt, salt: prepared.request.cache_salt }, signal)
  const head = createHead(loaded.aliases[0])
  try {
    // Streams after the prefill: callers allow more time for the first byte than between bytes.
    used.cachedTokens = await prefill(slot, prepared, used, signal)
    const write: Write = async (open) => {
      try {
        return await writeChoices(prepared, slot, { used, signal, open })
      } finally {
        const { promptTokens, cachedTokens, completionTokens } = used
        request.used = `prompt=${promptTokens} cached=${cachedTokens} completion=${completionTokens}`
      }
    }
    if (prepared.request.stream !== true) {
      await reply.send(await collectAnswer(prepared, head, write))
      return
    }
    reply.hijack()
    const stream = openEventStream(reply.raw)
    slot.pace = stream.drained
    try {
      await streamAnswer(prepared, head, { used, send: stream.send, write })
    } catch (error) {
      stream.send(toErrorBody(toRequestError(error, log, request)).body)
    }
    stream.finish()
  } finally {
    pool.release(slot)
  }
}

async function collectAnswer({ request }: PreparedChat, head: CompletionHead, write: Write): Promise<object> {
  const choices: unknown[] = []
  const total = await write((index) => {
    const collector = createCollector()
    return {
      add: collector.add,
      end: (end) => {
        const choice = collector.toChoice(index, end)
        choices.push(request.usesFunctions === true ? toFunctionChoice(choice) : choice)
      },
    }
  })
  return toCompletion(head, choices, total)
}

async function streamAnswer(
  { request }: PreparedChat,
  head: CompletionHead,
  { used, send, write }: { used: UsedTokens; send: (data: unknown) => void; write: Write },
): Promise<void> {
  const { include_usage: endsWithUsage, continuous_usage_stats: isContinuous } = request.stream_options ?? {}
  // As in vLLM, the usage so far is that of the chunk's choice.
  let before = 0
  const sendCounted = (chunk: object): void => {
    if (endsWithUsage !== true) return send(chunk)
    const counted = { ...used, completionTokens: used.completionTokens - before }
    send({ ...chunk, usage: isContinuous === true ? toUsage(counted) : null })
  }
  const sendChunk = (chunk: Chunk): void =>
    sendCounted(request.usesFunctions === true ? toFunctionChunk(chunk) : chunk)
  const total = await write((index) => {
    before = used.completionTokens
    sendCounted(toChunk(head, index, { role: 'assistant', content: '' }))
    return {
      add: (piece) => sendChunk(toPieceChunk(head, index, piece)),
      end: ({ finishReason, stopText }) => sendChunk(toChunk(head, index, {}, { finishReason, stopText })),
    }
  })
  if (endsWithUsage === true) send(toUsageChunk(head, total))
}
