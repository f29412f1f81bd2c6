import type { TokenUsage } from '../metering/record-tokens.ts'
import { readUsage } from './usage.ts'

const longestEvent = 8 * 1024 * 1024
// Without the quote that they begin with: a search goes from one first character to the next, and quotes are many.
const usageName = 'usage"'
const deltaName = 'delta"'
/** Blank line: the end of an event, in each way that the EventSource standard lets a line end. */
const eventEnd = /\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n/g
const lineFeed = 0x0a
const carriageReturn = 0x0d

/** Server-sent events on their way from an engine to a caller, one character for each byte; see `meterStream`. */
export interface StreamMeter {
  /** Takes bytes as they come and returns those to pass on; throws where an event has no end */
  take(bytes: string): string
  /** What is left to pass on when the engine has ended */
  finish(): string
  usage(): TokenUsage
}

/**
 * Passes server-sent events on as they are, reading the usage of a chat stream on the way. With `dropsUsage` the chunk that
 * holds nothing else is left out, because the caller did not ask for it; events are then passed on once they are whole.
 * `usage()` falls back to one output token for each chunk seen.
 */
export function meterStream(dropsUsage: boolean): StreamMeter {
  return new Meter(dropsUsage)
}

class Meter implements StreamMeter {
  readonly dropsUsage: boolean
  /** The beginning of an event whose end has not come */
  rest = ''
  reported: TokenUsage | null = null
  chunks = 0

  constructor(dropsUsage: boolean) {
    this.dropsUsage = dropsUsage
  }

  take(bytes: string): string {
    const all = this.rest === '' ? bytes : this.rest + bytes
    const end = endOfEvents(all, this.rest.length)
    if (end === all.length) {
      this.rest = ''
      const passing = this.read(all)
      return this.dropsUsage ? passing : bytes
    }
    if (all.length - end > longestEvent) throw new Error('the engine sent an event without an end')
    this.rest = copyOf(all, end)
    const passing = this.read(all.slice(0, end))
    return this.dropsUsage ? passing : bytes
  }

  finish(): string {
    const last = this.read(this.rest)
    this.rest = ''
    return this.dropsUsage ? last : ''
  }

  usage(): TokenUsage {
    return this.reported ?? { inputTokens: 0, outputTokens: this.chunks }
  }

  /** Reads whole events and returns those that pass: only those that hold usage are looked into. */
  read(events: string): string {
    this.chunks += countOf(events, deltaName)
    let usageAt = findUsage(events, 0)
    let passing = ''
    let passed = 0
    while (usageAt !== -1) {
      const { start, end } = eventAround(events, usageAt)
      if (!this.passes(events.slice(start, end))) {
        passing += events.slice(passed, start)
        passed = end
      }
      usageAt = findUsage(events, end)
    }
    return passed === 0 ? events : passing + events.slice(passed)
  }

  passes(event: string): boolean {
    const chunk = parseEvent(event)
    const usage = readUsage(chunk)
    if (usage !== null) this.reported = usage
    return !(this.dropsUsage && isUsageAlone(chunk))
  }
}

/** What a text has from a position on, as a string of its own where a few bytes would keep the whole piece in memory. */
function copyOf(text: string, start: number): string {
  const part = text.slice(start)
  return part.length > text.length / 2 ? part : Buffer.from(part, 'latin1').toString('latin1')
}

/** The position behind the last blank line; what lies before `seen` is known to hold none. */
function endOfEvents(text: string, seen: number): number {
  let end = text.length
  // The other half of a line's end may be on its way.
  if (text.charCodeAt(end - 1) === carriageReturn) end -= 1
  for (; end > Math.max(seen - 3, 1); end -= 1) {
    const last = text.charCodeAt(end - 1)
    if (last !== lineFeed && last !== carriageReturn) continue
    const isPair = last === lineFeed && text.charCodeAt(end - 2) === carriageReturn
    const before = text.charCodeAt(isPair ? end - 3 : end - 2)
    if (before === lineFeed || before === carriageReturn) return end
  }
  return 0
}

const objectValue = /\s*:\s*(?:\{|$)/y

/** Where `usage` has an object for its value, from a position on; -1 where it has not: some engines send null with each chunk. */
function findUsage(text: string, from: number): number {
  for (let at = text.indexOf(usageName, from); at !== -1; at = text.indexOf(usageName, at + 1)) {
    objectValue.lastIndex = at + usageName.length
    if (text[at - 1] === '"' && objectValue.test(text)) return at
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

function countOf(text: string, name: string): number {
  let count = 0
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + name.length)) count += 1
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
