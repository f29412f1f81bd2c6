import { setTimeout as delay } from 'node:timers/promises'
import type { NodeServer } from './server.ts'

/** Callers who each send the next request when they have the answer. */
export interface Load {
  /** Changes the number of callers. */
  setCallers(count: number): void
  /** The callers stream from now on. A stream that has begun can't move to another engine. */
  stream(): void
  answered: number
  failures: string[]
  /** The longest request so far, in seconds */
  longest: number
  stop(): Promise<void>
}

export function startLoad({ url, client }: NodeServer, model: string): Load {
  const callers: Promise<void>[] = []
  const ended = new AbortController()
  let wanted = 0
  let streams = false
  const load: Load = {
    answered: 0,
    failures: [],
    longest: 0,
    setCallers(count) {
      wanted = count
      while (callers.length < count) callers.push(call(callers.length))
    },
    stream() {
      streams = true
    },
    async stop() {
      ended.abort()
      await Promise.all(callers)
    },
  }

  async function call(index: number): Promise<void> {
    while (!ended.signal.aborted) {
      if (index >= wanted) await delay(100)
      else await send(streams)
    }
  }

  async function send(stream: boolean): Promise<void> {
    const sentAt = performance.now()
    const text = await ask(stream).catch((error: Error) => `${error.message} ${String(error.cause)}`)
    load.longest = Math.max(load.longest, Math.round((performance.now() - sentAt) / 1000))
    if (text.startsWith('200') && text.includes(stream ? 'data: [DONE]' : '"usage"')) load.answered += 1
    else load.failures.push(text.slice(0, 300))
  }

  async function ask(stream: boolean): Promise<string> {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { cookie: client.cookie(), 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        stream,
        messages: [{ role: 'user', content: 'Tell me a story about a fox.' }],
        max_tokens: 200,
      }),
    })
    return `${response.status} ${await response.text()}`
  }

  return load
}
