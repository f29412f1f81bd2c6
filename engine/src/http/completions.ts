import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../base/log.ts'
import type { UsedTokens } from '../chat/answer.ts'
import { createHead, toUsage } from '../chat/completion.ts'
import type { CompletionHead } from '../chat/completion.ts'
import {
  createChoiceFormatter,
  joinLogprobs,
  toCompletionBody,
  toCompletionChoice,
} from '../completions/completion-format.ts'
import type { ChoiceFormatter } from '../completions/completion-format.ts'
import type { PreparedCompletion } from '../completions/prepare-completion.ts'
import { writeCompletions } from '../completions/write-completion.ts'
import type { CompletionReader } from '../completions/write-completion.ts'
import type { LoadedModel } from '../model/load-model.ts'
import { toErrorBody, toRequestError } from './errors.ts'
import { openEventStream } from './event-stream.ts'
import type { EventStream } from './event-stream.ts'

interface Answering {
  used: UsedTokens
  request: FastifyRequest
  reply: FastifyReply
  log: Log
}

/** Answers a completion request, complete or as a stream. `used` has the counts so far. */
export async function answerCompletion(
  loaded: LoadedModel,
  prepared: PreparedCompletion,
  { used, request, reply, log }: Answering,
): Promise<void> {
  const head = createHead(loaded.aliases[0], 'cmpl-')
  const { stream: streams, logprobs } = prepared.request
  const openFormatter = () => createChoiceFormatter(loaded.model, logprobs != null)
  const job = { loaded, prepared, head, used, request, openFormatter }
  try {
    if (streams !== true) return void (await reply.send(await collectCompletion(job)))
    await streamCompletion(job, { reply, log })
  } finally {
    const { promptTokens, cachedTokens, completionTokens } = used
    request.used = `prompt=${promptTokens} cached=${cachedTokens} completion=${completionTokens}`
  }
}

interface Job {
  loaded: LoadedModel
  prepared: PreparedCompletion
  head: CompletionHead
  used: UsedTokens
  request: FastifyRequest
  openFormatter: () => ChoiceFormatter
}

/** Writes the completions of all prompts. `open` returns the reader of each choice. */
async function writeAll(
  { loaded, prepared, used, request }: Job,
  stream: EventStream | null,
  open: (index: number) => CompletionReader,
): Promise<void> {
  const { pool } = loaded.chat!
  const perPrompt = prepared.request.n ?? 1
  for (const [position, prompt] of prepared.prompts.entries()) {
    const slot = await pool.acquire(
      { tokens: prompt.tokens, salt: prepared.request.cache_salt },
      request.left,
    )
    if (stream !== null) slot.pace = stream.drained
    try {
      const first = position * perPrompt
      const writing = { used, signal: request.left, open: (index: number) => open(first + index) }
      await writeCompletions(prepared, prompt, slot, writing)
    } finally {
      pool.release(slot)
    }
  }
}

async function collectCompletion(job: Job): Promise<object> {
  const choices: object[] = []
  await writeAll(job, null, (index) => {
    const formatter = job.openFormatter()
    const parts: ReturnType<ChoiceFormatter['format']>[] = []
    return {
      add: (piece) => parts.push(formatter.format(piece)),
      end: (reason) => {
        const text = parts.map((part) => part.text).join('')
        const logprobs = joinLogprobs(parts.map((part) => part.logprobs))
        choices.push(toCompletionChoice(index, { text, logprobs }, reason))
      },
    }
  })
  return toCompletionBody(job.head, choices, job.used)
}

async function streamCompletion(job: Job, { reply, log }: Pick<Answering, 'reply' | 'log'>): Promise<void> {
  const { head, used, request } = job
  const { include_usage: endsWithUsage, continuous_usage_stats: isContinuous } =
    job.prepared.request.stream_options ?? {}
  let stream: EventStream | null = null
  // Streams from the first text on: callers allow more time for the first byte than between bytes.
  const send = (data: unknown): void => {
    if (stream === null) {
      reply.hijack()
      stream = openEventStream(reply.raw)
    }
    stream.send(data)
  }
  const drained = () => stream?.drained()
  const sendChoice = (choice: object, before: number): void => {
    const counted = { ...used, completionTokens: used.completionTokens - before }
    const usage = isContinuous === true ? toUsage(counted) : null
    send({ ...toCompletionBody(head, [choice]), ...(endsWithUsage === true ? { usage } : {}) })
  }
  try {
    await writeAll(job, { drained } as EventStream, (index) => {
      const formatter = job.openFormatter()
      const before = used.completionTokens
      return {
        add: (piece) => sendChoice(toCompletionChoice(index, formatter.format(piece), null), before),
        end: (reason) => sendChoice(toCompletionChoice(index, { text: '', logprobs: null }, reason), before),
      }
    })
    if (endsWithUsage === true) send(toCompletionBody(head, [], used))
  } catch (error) {
    if (stream === null) throw error
    send(toErrorBody(toRequestError(error, log, request)).body)
  }
  stream!.finish()
}
