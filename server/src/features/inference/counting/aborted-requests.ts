import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { Agent, request as send } from 'undici'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { Arrival } from '../arrival/caller.ts'
import { writeEngineBody } from '../arrival/request-body.ts'
import type { EngineTarget } from '../targets/targets.ts'
import { readUsageAt, toTokenUsage } from '../protocols/usage.ts'

/** How long an engine may take to count one request, in milliseconds */
const countMilliseconds = 5_000
/** Most questions to an engine that doesn't know the request yet, and the milliseconds between them */
const maxAttempts = 4
const retryMilliseconds = 200
/** Requests that engines count at the same time */
const maxCounting = 8
/** Requests that wait for that; the tokens of others stay unknown */
const maxWaiting = 1_000
/** Bytes of the bodies that wait */
const maxWaitingBytes = 64 * 1024 * 1024
/** Longer responses are cut off: an engine may send without end, and a few numbers are enough. */
const maxAnswerBytes = 64 * 1024

/** Learns the tokens of requests that were aborted before the engine sent a count. */
export interface AbortedRequests {
  /** Calls `record` with the engine's usage, or with null */
  count(arrival: Arrival, target: EngineTarget, record: (usage: TokenUsage | null) => void): void
  /** Resolves when all is recorded. The tokens of requests that wait for over five seconds stay unknown. */
  close(): Promise<void>
}

interface Question {
  url: string
  init: { method?: 'POST'; headers: Record<string, string>; body?: Buffer }
  read: (answer: unknown) => TokenUsage | null
}

/** Asks engines in the background, a bounded number at a time. */
export function countAbortedRequests(log: Logger): AbortedRequests {
  const waiting: { question: Question; bytes: number; record: (usage: TokenUsage | null) => void }[] = []
  const counting = new Set<Promise<void>>()
  const agent = new Agent({ connections: maxCounting, maxResponseSize: maxAnswerBytes })
  let waitingBytes = 0

  function next(): void {
    while (counting.size < maxCounting && waiting.length > 0) {
      const { question, bytes, record } = waiting.shift()!
      waitingBytes -= bytes
      const asked = ask(question, agent)
        .catch((error: unknown) => {
          log.warn({ err: error }, 'the tokens of an aborted request are unknown')
          return null
        })
        .then(record)
        .finally(() => {
          counting.delete(asked)
          next()
        })
      counting.add(asked)
    }
  }

  return {
    count(arrival, target, record) {
      const question = toQuestion(arrival, target)
      if (question === null) return record(null)
      const bytes = lengthOf(question)
      if (waiting.length >= maxWaiting || waitingBytes + bytes > maxWaitingBytes) {
        log.warn('the tokens of an aborted request are unknown, because too many others are being counted')
        return record(null)
      }
      waiting.push({ question, bytes, record })
      waitingBytes += bytes
      next()
    },
    async close() {
      // A stop aborts all requests at once, and engines count most of them within milliseconds.
      const giveUp = () => waiting.splice(0).forEach(({ record }) => record(null))
      const timer = setTimeout(giveUp, countMilliseconds)
      while (counting.size > 0) await Promise.race(counting)
      clearTimeout(timer)
      await agent.close()
    },
  }
}

function toQuestion({ request, protocol, caller }: Arrival, target: EngineTarget): Question | null {
  const base = target.origin + target.basePath
  const headers = {
    'content-type': 'application/json',
    ...(target.authorization === null ? {} : { authorization: target.authorization }),
  }
  const { countedAt, bodies } = protocol
  const { usageAt, readUsage } = bodies
  if (usageAt === null) return null
  if (target.counts.afterAbort === 'report') {
    return {
      url: `${base}/v1/requests/${caller.request.id}/usage`,
      init: { headers },
      read: (answer) => readUsageAt(answer, ['usage'], readUsage),
    }
  }
  if (target.counts.afterAbort === 'none' || countedAt === null || request.body.length === 0) return null
  const body = writeEngineBody(request, target)
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : Buffer.concat(body)
  return {
    url: base + countedAt,
    init: { method: 'POST', headers, body: bytes },
    read: (answer) => toTokenUsage(readCount(answer), 0),
  }
}

/** A prompt's tokens: `count` of `/tokenize`, or `input_tokens` of `/v1/messages/count_tokens` */
function readCount(answer: unknown): unknown {
  const counts = answer as { count?: unknown; input_tokens?: unknown } | null
  return counts?.count ?? counts?.input_tokens
}

function lengthOf({ init }: Question): number {
  return init.body?.length ?? 0
}

async function ask({ url, init, read }: Question, dispatcher: Agent): Promise<TokenUsage | null> {
  const signal = AbortSignal.timeout(countMilliseconds)
  for (let attempt = 1; ; attempt += 1) {
    const { statusCode, body } = await send(url, { ...init, signal, dispatcher })
    if (statusCode === 200) return read(await body.json())
    await body.dump()
    if (statusCode !== 404 || attempt === maxAttempts) throw new Error(`the engine answered ${statusCode}`)
    // The engine may not have read the aborted request yet, which came on another connection.
    await delay(retryMilliseconds)
  }
}
