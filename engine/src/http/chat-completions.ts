import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../base/log.ts'
import type { AnswerEnd } from '../chat/answer.ts'
import { createCollector, createHead, toChunk, toCompletion } from '../chat/completion.ts'
import { toPieceChunk, toUsageChunk } from '../chat/completion.ts'
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

/** Answers a chat request, complete or as a stream, when a sequence is free. */
export async function answerChat(
  loaded: LoadedModel,
  prepared: PreparedChat,
  { request, reply, log }: { request: FastifyRequest; reply: FastifyReply; log: Log },
): Promise<void> {
  const pool = loaded.chat!.pool
  const signal = request.left
  const slot = await pool.acquire(prepared.prompt, signal)
  const head = createHead(loaded.alias)
  try {
    // The stream starts after the prefill, because callers allow more time for the first byte than between bytes.
    const cachedTokens = await prefill(slot, prepared, signal)
    const write: Write = async (open) => {
      const total = await writeChoices(prepared, slot, { cachedTokens, signal, open })
      const { promptTokens, completionTokens } = total
      request.used = `prompt=${promptTokens} cached=${total.cachedTokens} completion=${completionTokens}`
      return total
    }
    if (prepared.request.stream !== true) {
      await reply.send(await collectAnswer(prepared, head, write))
      return
    }
    reply.hijack()
    const stream = openEventStream(reply.raw)
    slot.pace = stream.drained
    try {
      await streamAnswer(prepared, head, { send: stream.send, write })
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
  { send, write }: { send: (data: unknown) => void; write: Write },
): Promise<void> {
  const sendChunk = (chunk: Chunk): void =>
    send(request.usesFunctions === true ? toFunctionChunk(chunk) : chunk)
  const total = await write((index) => {
    send(toChunk(head, index, { role: 'assistant', content: '' }))
    return {
      add: (piece) => sendChunk(toPieceChunk(head, index, piece)),
      end: ({ finishReason }) => sendChunk(toChunk(head, index, {}, { finishReason })),
    }
  })
  if (request.stream_options?.include_usage === true) send(toUsageChunk(head, total))
}
