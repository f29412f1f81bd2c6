import { copyText } from '../../../base/copy-text.ts'
import { endOfEvent, endOfLastEvent, eventAround, parseEventData } from '../../../gateway/sse-framing.ts'
import type { ResponseHead } from '../../../gateway/upstream-client/upstream.ts'
import type { TokenCounts } from '../../../ports/runtime-engine.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type {
  ChoiceCounts,
  ErrorFacts,
  EventFormat,
  EventRemoval,
  MemberCount,
  MemberValues,
} from '../protocols/protocol.ts'
import type { BodyMeter, RelayOwner } from './response-relay.ts'
import { cutMember, RunningCount } from './running-count.ts'

const maxEventBytes = 8 * 1024 * 1024
/** Reads from this length on contain many events */
const longRead = 4096

/** Opens the meter of a response that streams events; null for other responses. */
export function openStreamMeter(
  { arrival, target }: Pick<RelayOwner, 'arrival' | 'target'>,
  head: ResponseHead,
): StreamMeter | null {
  const { events } = arrival.protocol
  if (events === null || !head.headers['content-type']?.startsWith('text/event-stream')) return null
  return new StreamMeter(events, target.counts.inEvents, arrival.request.values)
}

/**
 * Reads a stream's counts and forwards the server-sent events, without counts that only Berth asked for.
 * Events that may lose one are forwarded once they are complete. The last count is the stream's usage.
 * Without any, each event with text counts as one output token. Texts have one character per byte.
 */
export class StreamMeter implements BodyMeter {
  readonly #format: EventFormat
  readonly #inEvents: TokenCounts['inEvents']
  /** The count in each event; null if the engine counts only at the end */
  readonly #counted: MemberCount | null
  readonly #running: RunningCount | null
  readonly #removal: EventRemoval | null
  /** null if the response has one choice */
  readonly #choices: ChoiceCounts | null
  /** An incomplete event */
  #rest = ''
  #reported: Partial<TokenUsage> = {}
  /** Events with generated text, while the engine has not counted any */
  #chunks = 0

  /** `values` are those of the request. */
  constructor(format: EventFormat, inEvents: TokenCounts['inEvents'], values: MemberValues) {
    this.#format = format
    this.#inEvents = inEvents
    this.#counted = format.counted[inEvents] ?? null
    this.#removal = format.openRemoval(values, inEvents)
    this.#choices = format.openChoices(values, inEvents)
    this.#running =
      this.#counted === null || this.#choices !== null ? null : new RunningCount(this.#counted.member)
  }

  take(bytes: string): string {
    if (this.#rest === '') return this.#takeFrom(bytes, 0)
    const end = bytes.length < longRead ? 0 : endOfEvent(bytes, 0)
    if (end === 0) return this.#takeFrom(this.#rest + bytes, this.#rest.length)
    // Joins only the first event to the rest of the previous read, because joining copies a long read.
    const first = this.#takeFrom(this.#rest + bytes.slice(0, end), this.#rest.length)
    return first + this.#takeFrom(this.#rest + bytes.slice(end), this.#rest.length)
  }

  finish(error?: ErrorFacts): string {
    const last = this.#readEvents(this.#rest)
    this.#rest = ''
    // An incomplete event would hide the error that follows.
    return this.#removal === null || error !== undefined ? '' : last
  }

  usage(): TokenUsage {
    const { inputTokens = 0, outputTokens = this.#chunks, cachedTokens } = this.#reported
    return { inputTokens, outputTokens, cachedTokens }
  }

  partialUsage(): TokenUsage | null {
    const hasBegun = this.#reported.inputTokens !== undefined || this.#chunks > 0
    // Engines that count as they go send a count first.
    return hasBegun || this.#inEvents === 'none' ? this.usage() : null
  }

  /** Takes all that is not forwarded yet. The first `scanned` characters contain no event end. */
  #takeFrom(all: string, scanned: number): string {
    const end = endOfLastEvent(all, scanned)
    if (all.length - end > maxEventBytes) throw new Error('the engine sent an event that is too long')
    this.#rest = end === all.length ? '' : copyFrom(all, end)
    const forwarded = this.#readEvents(end === all.length ? all : all.slice(0, end))
    return this.#removal === null ? all.slice(scanned) : forwarded
  }

  /** Reads complete events and returns those to forward. */
  #readEvents(events: string): string {
    const forwarded = this.#counted === null ? this.#readSome(events) : this.#readEach(events)
    if (this.#reported.outputTokens === undefined) this.#chunks += countChunks(events, this.#format)
    return forwarded
  }

  /** Reads the events that may have a count. Most streams have one such event. */
  #readSome(events: string): string {
    const { countMark } = this.#format
    let forwarded = ''
    let copied = 0
    for (let at = findCount(events, countMark, 0); at !== -1; at = findCount(events, countMark, copied)) {
      const { start, end } = eventAround(events, at)
      forwarded += events.slice(copied, start) + this.#readEvent(events.slice(start, end))
      copied = end
    }
    return forwarded + events.slice(copied)
  }

  /** Reads all events, and parses only the last of the counts that are found without parsing the event. */
  #readEach(events: string): string {
    const running = this.#running
    const marks = running === null ? null : new MarkSearch(events, this.#counted!.marks)
    const removal = this.#removal
    const cuts = removal !== null && removal.cutsCounts
    let forwarded = ''
    // Unchanged events are joined together, because each part is copied.
    let copied = 0
    let counted = ''
    let countAt = -1
    for (let start = 0, end = 0; start < events.length; start = end) {
      end = endOfEvent(events, start) || events.length
      const event = events.slice(start, end)
      const at = running === null ? -1 : running.find(event)
      let kept = event
      if (at === -1) {
        this.#reportRunning(counted, countAt)
        countAt = -1
        const next = marks?.next(start) ?? start
        if (next < end) kept = this.#readEvent(event)
        else end = next === events.length ? next : eventAround(events, next).start
      } else {
        counted = event
        countAt = at
        if (cuts) kept = running!.cut(event, at, removal.leavesNull)
      }
      if (kept === event) continue
      forwarded += events.slice(copied, start) + kept
      copied = end
    }
    this.#reportRunning(counted, countAt)
    return forwarded + events.slice(copied)
  }

  #reportRunning(event: string, at: number): void {
    const count = at === -1 ? null : this.#running!.read(event, at)
    if (count !== null) Object.assign(this.#reported, this.#counted!.read(count))
  }

  /** Parses one event and returns what to forward of it. */
  #readEvent(text: string): string {
    const event = parseEventData(text)
    const usage = this.#format.readUsage(event)
    Object.assign(this.#reported, this.#choices === null ? usage : this.#choices.add(event, usage))
    const removal = this.#removal
    const verdict = removal === null ? 'keep' : removal.judge(event)
    if (verdict === 'drop') return ''
    this.#running?.learn(text)
    return verdict === 'keep' ? text : cutMember(text, this.#counted!.member, removal!.leavesNull)
  }
}

/** Returns the text from `start` on. Only a short rest is copied. */
function copyFrom(text: string, start: number): string {
  const part = text.slice(start)
  return part.length > text.length / 2 ? part : copyText(part)
}

/** Finds the marks of counts in a text, which it reads once. */
class MarkSearch {
  readonly #text: string
  /** Where each mark occurs next; the end of the text if it does not */
  readonly #found: { mark: string; at: number }[]

  constructor(text: string, marks: readonly string[]) {
    this.#text = text
    this.#found = marks.map((mark) => ({ mark, at: -1 }))
  }

  /** Returns the next mark from `from` on, which never decreases; without one, the end of the text. */
  next(from: number): number {
    for (const found of this.#found) {
      if (found.at >= from) continue
      const at = this.#text.indexOf(found.mark, from)
      found.at = at === -1 ? this.#text.length : at
    }
    return Math.min(...this.#found.map(({ at }) => at))
  }
}

function countChunks(events: string, { chunkMark: mark, isEmptyChunk }: EventFormat): number {
  let count = 0
  for (let at = events.indexOf(mark); at !== -1; at = events.indexOf(mark, at)) {
    at += mark.length
    if (isEmptyChunk === null || !isEmptyChunk(events, at)) count += 1
  }
  return count
}

const objectValue = /\s*:\s*\{/y

/** The next position of a mark with an object, or -1. Some engines send `"usage": null` with each event. */
function findCount(events: string, mark: string, from: number): number {
  for (let at = events.indexOf(mark, from); at !== -1; at = events.indexOf(mark, at + 1)) {
    objectValue.lastIndex = at + mark.length
    if (objectValue.test(events)) return at
  }
  return -1
}
