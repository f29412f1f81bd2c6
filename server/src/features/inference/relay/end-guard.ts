import { copyText } from '../../../base/copy-text.ts'
import { endOfEvent, parseEventData } from '../../../gateway/sse-framing.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import { toLatin1 } from '../protocols/body-edits.ts'
import type { ErrorFacts, MemberValues, StreamEnd } from '../protocols/protocol.ts'
import { writeData, writeErrorEvent } from '../protocols/sse-events.ts'
import type { BodyMeter } from './response-relay.ts'

const doneLine = 'data: [DONE]'

const endedEarly: ErrorFacts = {
  status: 502,
  code: 'upstream_unavailable',
  detail: 'The engine ended its response before the answer was complete.',
}

/**
 * Adds what a stream that ends tidily lacks: an error if the answer has no end, and the usage that the caller
 * asked for. Engines that end before the answer does would make half an answer, or half a call, look whole.
 */
export class EndGuard implements BodyMeter {
  readonly #meter: BodyMeter
  readonly #format: StreamEnd
  readonly #requestId: string
  readonly #wantsUsage: boolean
  /** The stream has ended, and what it lacked was added. */
  #hasAll = false
  #isBroken = false
  /** The first event of a stream whose usage may be missing */
  #first = ''
  /** The end of the stream so far, which has the marks */
  #last = ''
  /** The start of a line of the engine's that may be the last one */
  #held = ''
  /** What the engine sent before ends a line. */
  #isAtLineStart = true

  constructor(
    meter: BodyMeter,
    format: StreamEnd,
    { values, requestId }: { values: MemberValues; requestId: string },
  ) {
    this.#meter = meter
    this.#format = format
    this.#requestId = requestId
    this.#wantsUsage = format.wantsUsage?.(values) ?? false
  }

  /** The engine ended its response before the answer was complete. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  take(bytes: string): string {
    let text = this.#held + bytes
    this.#held = ''
    if (text === '' || this.#hasAll) return this.#meter.take(text)
    if (!text.endsWith('\n')) text = this.#holdLine(text)
    if (text === '') return ''
    const at = this.#findDone(text)
    this.#isAtLineStart = text.endsWith('\n')
    if (at < 0) return this.#read(text)
    const events = text.slice(0, at)
    if (!this.#wantsUsage) {
      this.#keepLast(events)
      const missing = this.#addMissing(endedEarly)
      // In one piece, because writing joined pieces copies them.
      if (missing === '') return this.#meter.take(text)
      return this.#meter.take(events) + missing + this.#meter.take(text.slice(at))
    }
    return this.#read(events) + this.#addMissing(endedEarly) + this.#meter.take(text.slice(at))
  }

  finish(error?: ErrorFacts): string {
    const held = error === undefined ? this.#read(this.#held) : ''
    const rest = this.#meter.finish(error)
    const last = held + rest
    this.#held = ''
    if (this.#hasAll) return last
    if (this.#wantsUsage) this.#keepLast(rest)
    const isWhole = this.#last === '' || /(?:\n\r?\n|\r\r)$/.test(this.#last)
    const missing = this.#addMissing(error ?? endedEarly)
    return missing === '' || isWhole ? last + missing : `${last}\n\n${missing}`
  }

  /** Holds the last line back if it may become the mark of the end. */
  #holdLine(text: string): string {
    const start = text.lastIndexOf('\n') + 1
    if ((start === 0 && !this.#isAtLineStart) || !doneLine.startsWith(text.slice(start))) return text
    this.#held = text.slice(start)
    return text.slice(0, start)
  }

  /** The offset of the mark of the end, which is the last line; -1 without it */
  #findDone(text: string): number {
    const at = text.indexOf(doneLine, text.length - doneLine.length - 4)
    if (at < 0) return -1
    return (at === 0 ? this.#isAtLineStart : text[at - 1] === '\n') ? at : -1
  }

  /** Reads what the engine sent. Returns what the meter forwards. */
  #read(text: string): string {
    const forwarded = this.#meter.take(text)
    if (this.#wantsUsage && this.#first === '') this.#keepFirst(forwarded)
    // The meter removes counts that only Berth asked for, which are no usage for the caller. Otherwise the
    // engine's text serves, because what is forwarded consists of parts, and joining copies them.
    this.#keepLast(this.#wantsUsage ? forwarded : text)
    return forwarded
  }

  #keepLast(text: string): void {
    this.#last = cutToLastEvents(text) ?? cutToLastEvents(this.#last + text) ?? this.#last + text
  }

  #keepFirst(text: string): void {
    const event = text.slice(0, endOfEvent(text, 0))
    if (parseEventData(event) !== null) this.#first = copyText(event)
  }

  #addMissing(error: ErrorFacts): string {
    this.#hasAll = true
    const { complete, lastComplete = [], failed, composeUsage } = this.#format
    const isComplete = hasOne(this.#last, complete) || hasOne(this.#last, lastComplete)
    const lacksUsage = this.#wantsUsage && this.#first !== '' && !hasOne(this.#last, usageMarks)
    if ((isComplete && !lacksUsage) || hasOne(this.#last, failed)) return ''
    if (!isComplete) {
      this.#isBroken = true
      return toLatin1(this.#composeError(error))
    }
    const usage = this.usage()
    return usage === null ? '' : toLatin1(writeData(composeUsage!(parseEventData(this.#first), usage)))
  }

  #composeError(error: ErrorFacts): string {
    const { errors } = this.#format
    const { body } = errors.compose(error, this.#requestId)
    return writeErrorEvent(errors, body)
  }

  usage(): TokenUsage | null {
    return this.#meter.usage()
  }

  partialUsage(): TokenUsage | null {
    return this.#meter.partialUsage()
  }
}

/** Characters that the last, short events have together */
const lastLength = 2048
/** A line that starts with this is no text, because texts have no line ends. */
const eventStart = '\ndata:'

/** Returns the last events of a text, from the start of one: some write their mark before a long text. */
function cutToLastEvents(text: string): string | null {
  const start = text.length > lastLength ? text.lastIndexOf(eventStart, text.length - lastLength) : 0
  return start > 0 ? text.slice(start) : null
}

const usageMarks = ['usage":{', 'usage": {']

function hasOne(text: string, marks: readonly string[]): boolean {
  return marks.some((mark) => text.includes(mark))
}
