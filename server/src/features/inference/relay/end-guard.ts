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
  /** The end of what was forwarded, which has the marks */
  #last = ''
  /** The start of a line that may be the last one */
  #held = ''

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
    let text = this.#held + this.#meter.take(bytes)
    this.#held = ''
    if (text === '' || this.#hasAll) return text
    if (!text.endsWith('\n')) text = this.#holdLine(text)
    const at = this.#findDone(text)
    this.#forward(at < 0 ? text : text.slice(0, at))
    return at < 0 ? text : text.slice(0, at) + this.#addMissing(endedEarly) + text.slice(at)
  }

  finish(error?: ErrorFacts): string {
    const last = (error === undefined ? this.#held : '') + this.#meter.finish(error)
    this.#held = ''
    if (this.#hasAll) return last
    this.#forward(last)
    const isWhole = this.#last === '' || /(?:\n\r?\n|\r\r)$/.test(this.#last)
    const missing = this.#addMissing(error ?? endedEarly)
    return missing === '' || isWhole ? last + missing : `${last}\n\n${missing}`
  }

  get #isAtLineStart(): boolean {
    return this.#last === '' || this.#last.endsWith('\n')
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

  #forward(text: string): void {
    if (this.#wantsUsage && this.#first === '') this.#keepFirst(text)
    // A long read is not joined, because joining copies it.
    this.#last = cutToLastEvents(text) ?? cutToLastEvents(this.#last + text) ?? this.#last + text
  }

  #keepFirst(text: string): void {
    const event = text.slice(0, endOfEvent(text, 0))
    if (parseEventData(event) !== null) this.#first = copyText(event)
  }

  #addMissing(error: ErrorFacts): string {
    this.#hasAll = true
    const { complete, lastComplete = [], failed, composeUsage } = this.#format
    if (hasOne(this.#last, failed)) return ''
    if (!hasOne(this.#last, complete) && !hasOne(this.#last, lastComplete)) {
      this.#isBroken = true
      return toLatin1(this.#composeError(error))
    }
    if (!this.#wantsUsage || this.#first === '' || hasOne(this.#last, usageMarks)) return ''
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
