import { copyText } from '../../../base/copy-text.ts'
import { endOfEvent, parseEventData } from '../../../gateway/sse-framing.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { MemberValues, StreamEnd } from '../protocols/protocol.ts'
import { writeData, writeErrorEvent } from '../protocols/sse-events.ts'
import type { BodyMeter } from './response-relay.ts'

const doneLine = 'data: [DONE]'

/**
 * Adds what a stream that ends tidily lacks: an error if the answer has no end, and the usage that the caller
 * asked for. Engines that end before the answer does would make half an answer, or half a call, look whole.
 */
export class EndGuard implements BodyMeter {
  readonly #meter: BodyMeter
  readonly #format: StreamEnd
  readonly #requestId: string
  readonly #wantsUsage: boolean
  #state: 'open' | 'complete' | 'failed' = 'open'
  #hasUsage = false
  /** The start of a stream whose usage may be missing */
  #first = ''
  /** The end of what was forwarded, which may be within a mark or an event */
  #tail = ''
  /** The start of a line that may be the last one */
  #held = ''
  #isBroken = false

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
    const text = this.#held + this.#meter.take(bytes)
    this.#held = ''
    if (text === '' || this.#hasAll) return text
    const startsLine = this.#tail === '' || this.#tail.endsWith('\n')
    const line = text.lastIndexOf('\n') + 1
    if (line < text.length && (line > 0 || startsLine) && doneLine.startsWith(text.slice(line))) {
      this.#held = text.slice(line)
    }
    const whole = this.#held === '' ? text : text.slice(0, line)
    this.#look(whole)
    const done = startsLine && whole.startsWith(doneLine) ? 0 : whole.indexOf(`\n${doneLine}`)
    if (done < 0) return whole
    const at = done === 0 ? 0 : done + 1
    return whole.slice(0, at) + this.#addMissing() + whole.slice(at)
  }

  finish(): string {
    const last = this.#held + this.#meter.finish()
    this.#held = ''
    this.#look(last)
    const missing = this.#addMissing()
    const endsEvent = this.#tail === '' || /(?:\n\r?\n|\r\r)$/.test(this.#tail)
    return missing === '' || endsEvent ? last + missing : `${last}\n\n${missing}`
  }

  /** Nothing is missing. */
  get #hasAll(): boolean {
    return this.#state !== 'open' && (!this.#wantsUsage || this.#hasUsage)
  }

  /** Looks for the marks, also where two texts meet. */
  #look(text: string): void {
    if (text === '') return
    const seen = this.#tail + text
    // Nearly all texts end with an event.
    this.#tail = text.endsWith('\n\n') ? '\n\n' : copyText(seen.slice(-tailLength))
    const { complete, failed } = this.#format
    if (this.#state === 'open') {
      if (hasOne(seen, failed)) this.#state = 'failed'
      else if (hasOne(seen, complete)) this.#state = 'complete'
    }
    if (!this.#wantsUsage) return
    this.#hasUsage ||= this.#state === 'failed' || hasOne(seen, usageMarks)
    const end = this.#first === '' ? endOfEvent(text, 0) : 0
    if (end > 0 && parseEventData(text.slice(0, end)) !== null) this.#first = copyText(text.slice(0, end))
  }

  #addMissing(): string {
    if (this.#state === 'open') {
      this.#state = 'failed'
      this.#isBroken = true
      return toLatin1(this.#composeError())
    }
    const usage = this.#state === 'complete' && this.#wantsUsage && !this.#hasUsage ? this.usage() : null
    if (usage === null || this.#first === '') return ''
    this.#hasUsage = true
    return toLatin1(writeData(this.#format.composeUsage!(parseEventData(this.#first), usage)))
  }

  #composeError(): string {
    const { errors } = this.#format
    const detail = 'The engine ended its response before the answer was complete.'
    const { body } = errors.compose({ status: 502, code: 'upstream_unavailable', detail }, this.#requestId)
    return writeErrorEvent(errors, body)
  }

  usage(): TokenUsage | null {
    return this.#meter.usage()
  }

  partialUsage(): TokenUsage | null {
    return this.#meter.partialUsage()
  }
}

/** Longer than each mark */
const tailLength = 40
const usageMarks = ['"usage":{', '"usage": {']

function hasOne(text: string, marks: readonly string[]): boolean {
  return marks.some((mark) => text.includes(mark))
}

function toLatin1(text: string): string {
  return Buffer.from(text).toString('latin1')
}
