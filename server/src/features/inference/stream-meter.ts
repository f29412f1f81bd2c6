import { Transform } from 'node:stream'
import type { TransformCallback } from 'node:stream'
import type { TokenUsage } from '../metering/record-tokens.ts'
import { readUsage } from './usage.ts'

const longestEvent = 8 * 1024 * 1024
/** Blank line: the end of an event, in each way that the EventSource standard lets a line end. */
const eventEnd = /\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n/

/**
 * Passes server-sent events on as they are, reading the usage of a chat stream on the way. With `dropsUsage` the chunk that
 * holds nothing else is left out: the caller did not ask for it. `usage()` falls back to one output token for each chunk seen.
 */
export function meterStream(dropsUsage: boolean): Transform & { usage(): TokenUsage } {
  // One character per byte, so that whatever passes is passed on byte for byte.
  let pending = ''
  let reported: TokenUsage | null = null
  let chunks = 0

  function passes(event: string): boolean {
    const data = event
      .split(/\r\n|\n|\r/)
      .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
      .join('\n')
    if (data === '' || data === '[DONE]') return true
    const chunk = parse(Buffer.from(data, 'latin1').toString())
    const usage = readUsage(chunk)
    if (usage !== null) reported = usage
    const choices = (chunk as { choices?: unknown } | null)?.choices
    if (!Array.isArray(choices)) return true
    if (choices.length > 0) chunks += 1
    return !(dropsUsage && usage !== null && choices.length === 0)
  }

  const stream = new Transform({
    transform(bytes: Buffer, _encoding: BufferEncoding, done: TransformCallback) {
      pending += bytes.toString('latin1')
      let out = ''
      for (let end = eventEnd.exec(pending); end !== null; end = eventEnd.exec(pending)) {
        const length = end.index + end[0].length
        const event = pending.slice(0, length)
        pending = pending.slice(length)
        if (passes(event)) out += event
      }
      if (pending.length > longestEvent) {
        done(new Error('the engine sent an event without an end'))
        return
      }
      done(null, out === '' ? undefined : Buffer.from(out, 'latin1'))
    },
    flush(done: TransformCallback) {
      done(null, pending !== '' && passes(pending) ? Buffer.from(pending, 'latin1') : undefined)
    },
  })
  return Object.assign(stream, {
    usage: () => reported ?? { inputTokens: 0, outputTokens: chunks },
  })
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return null
  }
}
