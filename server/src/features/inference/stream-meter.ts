import type { TokenUsage } from '../metering/record-tokens.ts'
import { readUsage } from './usage.ts'

const longestEvent = 8 * 1024 * 1024
const lineFeed = 0x0a
const carriageReturn = 0x0d
// Without the quote that they begin with: a search goes from one first character to the next, and quotes are many.
const usageName = Buffer.from('usage"')
const deltaName = Buffer.from('delta"')
const quote = 0x22
const nothing: Buffer = Buffer.alloc(0)
/** Blank line: the end of an event, in each way that the EventSource standard lets a line end. */
const eventEnd = /\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n/g

/** Server-sent events on their way from an engine to a caller; see `meterStream`. */
export interface StreamMeter {
  /** Takes bytes as they come and returns those to pass on; throws where an event has no end */
  take(bytes: Buffer): Buffer
  /** What is left to pass on when the engine has ended */
  finish(): Buffer
  usage(): TokenUsage
}

/**
 * Passes server-sent events on as they are, reading the usage of a chat stream on the way. With `dropsUsage` the chunk that
 * holds nothing else is left out, because the caller did not ask for it; events are then passed on once they are whole.
 * `usage()` falls back to one output token for each chunk seen.
 */
export function meterStream(dropsUsage: boolean): StreamMeter {
  /** The beginning of an event whose end has not come */
  let rest = nothing
  let reported: TokenUsage | null = null
  let chunks = 0

  /** Reads whole events and returns those that pass: only those that hold usage are looked into. */
  function read(events: Buffer): Buffer {
    chunks += countOf(events, deltaName)
    let usageAt = findUsage(events, 0)
    if (usageAt === -1) return events
    const text = events.toString('latin1')
    let passing = ''
    let passed = 0
    while (usageAt !== -1) {
      const { start, end } = eventAround(text, usageAt)
      if (!passes(text.slice(start, end))) {
        passing += text.slice(passed, start)
        passed = end
      }
      usageAt = findUsage(events, end)
    }
    return passed === 0 ? events : Buffer.from(passing + text.slice(passed), 'latin1')
  }

  function passes(event: string): boolean {
    const chunk = parseEvent(event)
    const usage = readUsage(chunk)
    if (usage !== null) reported = usage
    return !(dropsUsage && isUsageAlone(chunk))
  }

  return {
    take(bytes) {
      const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
      const end = endOfEvents(all, rest.length)
      const held = end === all.length ? nothing : all.subarray(end)
      if (held.length > longestEvent) throw new Error('the engine sent an event without an end')
      // A copy, so that a few bytes don't keep the whole piece in memory.
      rest = held.length === 0 || held.length > all.length / 2 ? held : Buffer.from(held)
      const passing = read(all.subarray(0, end))
      return dropsUsage ? passing : bytes
    },
    finish() {
      const last = read(rest)
      rest = nothing
      return dropsUsage ? last : nothing
    },
    usage: () => reported ?? { inputTokens: 0, outputTokens: chunks },
  }
}

/** The position behind the last blank line; what lies before `seen` is known to hold none. */
function endOfEvents(bytes: Buffer, seen: number): number {
  let end = bytes.length
  // The other half of a line's end may be on its way.
  if (bytes[end - 1] === carriageReturn) end -= 1
  for (; end > Math.max(seen - 3, 1); end -= 1) {
    const last = bytes[end - 1]
    if (last !== lineFeed && last !== carriageReturn) continue
    const before = last === lineFeed && bytes[end - 2] === carriageReturn ? bytes[end - 3] : bytes[end - 2]
    if (before === lineFeed || before === carriageReturn) return end
  }
  return 0
}

/** Where `usage` has an object for its value, from a position on; -1 where it has not: some engines send null with each chunk. */
function findUsage(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(usageName, from); at !== -1; at = bytes.indexOf(usageName, at + 1)) {
    const value = /^\s*:\s*(.)/s.exec(
      bytes.toString('latin1', at + usageName.length, at + usageName.length + 32),
    )
    if (bytes[at - 1] === quote && (value === null || value[1] === '{')) return at
  }
  return -1
}

/** The event that a position lies in, with the blank line that ends it and without those before it. */
function eventAround(text: string, at: number): { start: number; end: number } {
  let start = at
  while (start > 0 && !(isBreak(text, start - 1) && endsBlankLine(text, start))) start -= 1
  eventEnd.lastIndex = at
  return { start, end: eventEnd.exec(text) === null ? text.length : eventEnd.lastIndex }
}

function isBreak(text: string, at: number): boolean {
  return text[at] === '\n' || text[at] === '\r'
}

/** True where a blank line ends before `at`, which is behind a line break. */
function endsBlankLine(text: string, at: number): boolean {
  const last = text[at - 1] === '\n' && text[at - 2] === '\r' ? at - 2 : at - 1
  return last === 0 || isBreak(text, last - 1)
}

function countOf(bytes: Buffer, name: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(name); at !== -1; at = bytes.indexOf(name, at + name.length)) count += 1
  return count
}

/** A chunk that says what was used and nothing else. */
function isUsageAlone(chunk: unknown): boolean {
  const { choices, usage } = (chunk ?? {}) as { choices?: unknown; usage?: unknown }
  return Array.isArray(choices) && choices.length === 0 && typeof usage === 'object' && usage !== null
}

function parseEvent(event: string): unknown {
  const data = event
    .split(/\r\n|\n|\r/)
    .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
    .join('\n')
  try {
    return JSON.parse(Buffer.from(data, 'latin1').toString())
  } catch {
    return null
  }
}
