import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import { drawScript, outcomeOf } from './script.ts'
import type { Script } from './script.ts'

export interface Callers {
  /** Finished requests by the upstream's action */
  ended: Map<Script['does'], number>
  /** Unexpected events */
  surprises: string[]
  /** Stops new requests and waits for those in flight. A request that takes over a minute is reported. */
  stop(): Promise<void>
}

interface Options {
  url: string
  cookie: string
  model: string
  requestsPerSecond: number
  streams: number
}

const tick = 20

/** Calls a gateway with random scripts at a fixed request rate and a fixed number of open streams. */
export function startCallers(options: Options): Callers {
  const agent = new Agent({ pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 })
  const ended: Callers['ended'] = new Map()
  const surprises: string[] = []
  const underWay = new Set<Promise<void>>()
  let stopped = false

  async function call(script: Script, streams: boolean): Promise<void> {
    const surprise = await ask(agent, options, script, streams)
    if (surprise !== null) surprises.push(`${script.does}: ${surprise}`)
    ended.set(script.does, (ended.get(script.does) ?? 0) + 1)
  }

  function start(streams: boolean): void {
    const work = call(drawScript(streams), streams).finally(() => {
      underWay.delete(work)
      if (streams && !stopped) start(true)
    })
    underWay.add(work)
  }

  const begun = performance.now()
  let asked = 0
  const timer = setInterval(() => {
    const due = ((performance.now() - begun) / 1000) * options.requestsPerSecond
    for (; asked < due; asked += 1) start(false)
  }, tick)
  // Stagger the starts, so that the events are not synchronized.
  let opened = 0
  const opening = setInterval(() => {
    for (let more = Math.min(5, options.streams - opened); more > 0; more -= 1, opened += 1) start(true)
  }, tick)

  return {
    ended,
    surprises,
    async stop() {
      stopped = true
      clearInterval(timer)
      clearInterval(opening)
      const finished = Promise.all(underWay).then(() => true)
      if (!(await Promise.race([finished, delay(60_000, false, { ref: false })]))) {
        surprises.push(`${underWay.size} requests did not end within a minute`)
      }
      await agent.destroy()
    },
  }
}

/** Sends one request and returns its difference from the script, or null. */
async function ask(
  agent: Agent,
  { url, cookie, model }: Options,
  script: Script,
  streams: boolean,
): Promise<string | null> {
  const outcome = outcomeOf(script)
  const leaving = new AbortController()
  let seen = 'no answer'
  let leaves: NodeJS.Timeout | undefined
  if (outcome === 'leave' && !streams) leaves = setTimeout(() => leaving.abort(), 50 + Math.random() * 200)
  try {
    const { statusCode, body } = await agent.request({
      origin: url,
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: 'Is the berth ready?' }],
        stream: streams,
        script,
      }),
      signal: leaving.signal,
    })
    seen = `status ${statusCode}`
    let text = ''
    body.setEncoding('utf8')
    for await (const piece of body as AsyncIterable<string>) {
      text += piece
      if (outcome === 'leave' && countEvents(text) === script.events) leaving.abort()
    }
    seen = `status ${statusCode}, ${text.slice(-300)}`
    const whole = statusCode === 200 && (streams ? isWholeStream(text, script.events) : isWholeAnswer(text))
    return whole === (outcome === 'answer') ? null : seen
  } catch (error) {
    if (outcome === 'error' || (outcome === 'leave' && leaving.signal.aborted)) return null
    return `${seen}, ${error instanceof Error ? error.message : String(error)}`
  } finally {
    clearTimeout(leaves)
  }
}

function isWholeAnswer(text: string): boolean {
  return text.startsWith('{"id":"chatcmpl-soak"') && text.endsWith('}}')
}

function countEvents(text: string): number {
  return text.split('"token ').length - 1
}

/** True for every event once and in order, an end, and no usage, because the request did not ask for it. */
function isWholeStream(text: string, events: number): boolean {
  const numbers = [...text.matchAll(/"token (\d+)"/g)].map(([, number]) => Number(number))
  return (
    numbers.length === events &&
    numbers.every((number, index) => number === index) &&
    text.trimEnd().endsWith('data: [DONE]') &&
    !text.includes('"usage"')
  )
}
