import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../support/client.ts'

/** What random requests are sent, and where. */
export interface AbortLoad {
  url: string
  client: Client
  random: () => number
  rounds: number
  /** Requests in flight */
  atOnce: number
  /** Composes a request */
  compose: () => { path: string; body: { stream?: boolean } }
}

/** What became of random requests. */
export interface AbortCounts {
  requests: number
  /** Those whose caller left before the end */
  aborted: number
  /** Those of them that sent nothing before */
  beforeFirstByte: number
}

/**
 * Sends requests, several at a time, and leaves at random moments: before the first byte, in between, or near
 * the end.
 */
export async function abortAtRandom(load: AbortLoad): Promise<AbortCounts> {
  const counts = { requests: 0, aborted: 0, beforeFirstByte: 0 }
  const callers = Array.from({ length: load.atOnce }, async () => {
    while (counts.requests < load.rounds) {
      counts.requests += 1
      await abortOne(load, counts)
    }
  })
  await Promise.all(callers)
  return counts
}

async function abortOne({ url, client, random, compose }: AbortLoad, counts: AbortCounts): Promise<void> {
  const { path, body } = compose()
  const events = body.stream === true && random() < 0.7 ? Math.floor(random() ** 2 * 80) + 1 : Infinity
  const leaving = new AbortController()
  const timer = events === Infinity ? setTimeout(() => leaving.abort(), random() * 120) : undefined
  let seen = 0
  try {
    const headers = { 'content-type': 'application/json', cookie: client.cookie() }
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: leaving.signal }
    const response = await fetch(url + path, init)
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
    for await (const piece of response.body!) {
      seen += Buffer.from(piece).toString('latin1').split('\n\n').length - 1
      if (seen >= events) leaving.abort()
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error
    counts.aborted += 1
    if (seen === 0) counts.beforeFirstByte += 1
  } finally {
    clearTimeout(timer)
  }
  // The next request of this caller doesn't always meet a busy engine.
  await delay(random() * 20)
}

const words = ['harbor', 'night', 'ship', 'fox', 'garden', 'river', 'winter', 'letter', 'bread', 'music']

/** A text of random length. Texts often share a beginning, so that prefix caches have hits. */
export function writePrompt(random: () => number, maxWords: number): string {
  const start =
    random() < 0.5 ? 'Tell me a story about a fox.' : `Tell me a story about ${Math.floor(random() * 1e6)}.`
  const count = Math.floor(random() ** 2 * maxWords)
  return `${start} ${Array.from({ length: count }, () => words[Math.floor(random() * words.length)]).join(' ')}`
}
