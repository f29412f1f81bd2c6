import { copyText } from '../../../base/copy-text.ts'
import { endOfFirstEvent, endOfLastEvent, eventAround, parseEventData } from '../../../gateway/sse-framing.ts'
import type { TokenCounts } from '../../../ports/runtime-engine.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { BodyMeter } from '../arrival/body-meter.ts'
import type { ChoiceCounts } from '../protocols/choice-counts.ts'
import { countOf } from '../protocols/count-of.ts'
import type { EventRenaming } from './event-renaming.ts'
import { cutMember, EventCutter } from './event-cutter.ts'
import type { EventFormat, EventRemoval } from '../protocols/protocol.ts'

const maxEventBytes = 8 * 1024 * 1024
/** Reads from this length on contain many events */
const longRead = 4096

type CountsInEvents = TokenCounts['inEvents']

/** What a stream changes in events, apart from nothing */
interface EventChanges {
  removal: EventRemoval | null
  choices?: ChoiceCounts | null
  renaming: EventRenaming | null
}

/**
 * Reads the counts of a stream and forwards the server-sent events unchanged, except for the model's name and
 * for what `removal` takes away. With either change, events are forwarded once they are complete. The last
 * count that arrived is what the stream used. If an engine sends none, each chunk seen counts as one output
 * token.
 */
export class StreamMeter implements BodyMeter {
  readonly format: EventFormat
  readonly inEvents: CountsInEvents
  readonly marks: readonly CountMark[]
  readonly removal: EventRemoval | null
  /** null if no member is cut */
  readonly cutter: EventCutter | null
  readonly renaming: EventRenaming | null
  /** False if bytes are forwarded as they arrive */
  readonly changesEvents: boolean
  /** An incomplete event */
  rest = ''
  reported: Partial<TokenUsage> = {}
  /** null if the response has one choice */
  readonly choices: ChoiceCounts | null
  /** Events with generated text so far, unless the renaming counts them */
  counted = 0

  constructor(
    format: EventFormat,
    inEvents: CountsInEvents,
    { removal, renaming, choices = null }: EventChanges,
  ) {
    this.format = format
    this.inEvents = inEvents
    this.marks = marksOf(format.countNames[inEvents])
    this.removal = removal
    this.choices = choices
    this.cutter = removal === null || removal.member === null ? null : new EventCutter(removal.member)
    this.renaming = renaming
    this.changesEvents = removal !== null || renaming !== null
  }

  take(bytes: string): string {
    if (this.rest === '') return this.takeFrom(bytes, 0)
    const end = bytes.length < longRead ? 0 : endOfFirstEvent(bytes)
    if (end === 0) return this.takeFrom(this.rest + bytes, this.rest.length)
    // Only the first event is joined to the rest of the previous read, because joining everything would copy
    // a long read once more.
    const first = this.takeFrom(this.rest + bytes.slice(0, end), this.rest.length)
    return first + this.takeFrom(this.rest + bytes.slice(end), this.rest.length)
  }

  /** Takes all that is not forwarded yet. The first `scanned` characters contain no event end. */
  takeFrom(all: string, scanned: number): string {
    const end = endOfLastEvent(all, scanned)
    if (all.length - end > maxEventBytes) throw new Error('the engine sent an event that is too long')
    this.rest = end === all.length ? '' : copyFrom(all, end)
    const forwarded = this.readEvents(end === all.length ? all : all.slice(0, end))
    return this.changesEvents ? forwarded : all.slice(scanned)
  }

  finish(): string {
    const last = this.readEvents(this.rest)
    this.rest = ''
    return this.changesEvents ? last : ''
  }

  /** Events with generated text so far */
  get chunks(): number {
    return this.renaming === null ? this.counted : this.renaming.chunks
  }

  usage(): TokenUsage {
    const { inputTokens = 0, outputTokens = this.chunks, cachedTokens } = this.reported
    return { inputTokens, outputTokens, cachedTokens }
  }

  partialUsage(): TokenUsage | null {
    const { reported, chunks, inEvents } = this
    // An engine that counts as it goes has not begun to answer.
    if (reported.inputTokens === undefined && chunks === 0 && inEvents !== 'none') return null
    return this.usage()
  }

  /**
   * Reads complete events and returns those to forward. Parses only the last of counts that are cut, and
   * events with other counts.
   */
  readEvents(events: string): string {
    const { format, cutter } = this
    if (this.renaming === null && this.reported.outputTokens === undefined) {
      this.counted += countOf(events, format.chunkMark)
    }
    if (this.choices !== null) return this.rename(this.readEach(events))
    const search = new CountSearch(events, this.marks)
    let forwarded = ''
    let copied = 0
    for (let at = search.next(0); at !== -1; at = search.next(copied)) {
      const run = cutter === null ? '' : cutter.cutRun(events, copied)
      if (cutter !== null && run !== '') {
        forwarded += cutter.renamesHead ? run : this.rename(run)
        copied = cutter.end
        this.report(`data:{"${events.slice(cutter.lastAt, copied)}`)
        continue
      }
      const { start, end } = eventAround(events, at)
      forwarded += this.rename(events.slice(copied, start) + this.readEvent(events.slice(start, end)))
      copied = end
    }
    return forwarded + this.rename(events.slice(copied))
  }

  /**
   * Reads each event, because those without a count tell which choice has ended. Few requests ask for several
   * choices.
   */
  readEach(events: string): string {
    let forwarded = ''
    for (let start = 0; start < events.length;) {
      const { end } = eventAround(events, start)
      forwarded += this.readEvent(events.slice(start, end))
      start = end
    }
    return forwarded
  }

  rename(events: string): string {
    return this.renaming === null ? events : this.renaming.inEvents(events)
  }

  /** Reads one event with a count and returns what to forward of it. */
  readEvent(text: string): string {
    const event = this.report(text)
    const { removal, cutter, renaming } = this
    if (removal === null) return text
    const verdict = removal.judge(event)
    if (verdict === 'drop') return ''
    if (verdict === 'keep' || cutter === null) return text
    if (this.choices === null) {
      cutter.learnHead(text, renaming)
      const cut = cutter.cutRun(text, 0)
      if (cutter.end === text.length) return cut
    }
    return cutMember(text, cutter.member)
  }

  report(text: string): unknown {
    const event = parseEventData(text)
    const usage = this.format.readUsage(event)
    Object.assign(this.reported, this.choices === null ? usage : this.choices.add(event, usage))
    if (this.renaming !== null) this.renaming.countsChunks = this.reported.outputTokens === undefined
    return event
  }
}

/** Returns the text from `start` on. Only a short rest is copied. */
function copyFrom(text: string, start: number): string {
  const part = text.slice(start)
  return part.length > text.length / 2 ? part : copyText(part)
}

/** What the search for a count looks for. */
interface CountMark {
  /** The name of the member with its quotes */
  name: string
  /**
   * The end of the name. The search for a short text jumps between occurrences of its first character, which
   * is therefore a rare one
   */
  needle: string
}

/**
 * Most letters of a needle. V8 prepares tables for longer texts, which takes longer than the search in an
 * event
 */
const needleLetters = 5
/** Letters by their frequency in English */
const rareLetters = Array.from('zqxjkvbpygfwmucldrhsnioate')

/** The marks of each list of names, for all streams */
const marksByNames = new WeakMap<readonly string[], readonly CountMark[]>()

function marksOf(names: readonly string[]): readonly CountMark[] {
  const known = marksByNames.get(names)
  if (known !== undefined) return known
  const marks = names.map(toMark)
  marksByNames.set(names, marks)
  return marks
}

function toMark(name: string): CountMark {
  const end = name.slice(-needleLetters)
  const rarest = rareLetters.find((letter) => end.includes(letter)) ?? ''
  return { name: `"${name}"`, needle: `${end.slice(end.lastIndexOf(rarest))}"` }
}

/** Finds members with counts in a text. */
class CountSearch {
  readonly text: string
  readonly marks: readonly CountMark[]
  /** The next position of each mark; -1 if there is none */
  readonly found: number[]

  constructor(text: string, marks: readonly CountMark[]) {
    this.text = text
    this.marks = marks
    this.found = marks.map((mark) => findCount(text, mark, 0))
  }

  /**
   * Returns where the next name at or after `from` begins, after its quote; -1 for none. `from` must not
   * decrease.
   */
  next(from: number): number {
    const { text, marks, found } = this
    let first = -1
    for (let index = 0; index < found.length; index += 1) {
      let at = found[index]!
      if (at !== -1 && at < from) {
        at = findCount(text, marks[index]!, from)
        found[index] = at
      }
      if (at !== -1 && (first === -1 || at < first)) first = at
    }
    return first
  }
}

const objectValue = /\s*:\s*(?:\{|$)/y

function hasObject(text: string, end: number): boolean {
  if (text.startsWith(':{', end)) return true
  objectValue.lastIndex = end
  return objectValue.test(text)
}

/**
 * Returns the next position of a member with an object as its value, or -1. Some engines send `"usage": null`
 * with each chunk.
 */
function findCount(text: string, { name, needle }: CountMark, from: number): number {
  for (let at = text.indexOf(needle, from); at !== -1; at = text.indexOf(needle, at + 1)) {
    const end = at + needle.length
    if (text.startsWith(name, end - name.length) && hasObject(text, end)) return end - name.length + 1
  }
  return -1
}
