import { copyText } from '../../../base/copy-text.ts'
import { endOfEvent, endOfLastEvent, parseEventData } from '../../../gateway/sse-framing.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import { writeJson } from '../protocols/json-source.ts'
import { toLatin1 } from '../protocols/body-edits.ts'
import { writeEvent } from '../protocols/sse-events.ts'
import type {
  AnswerTranslation,
  BodyRewriter,
  CallerEvent,
  ErrorFacts,
  EventTranslation,
} from '../protocols/protocol.ts'
import type { BodyMeter } from './response-relay.ts'
import { InvalidResponse } from '../../../base/invalid-response.ts'

/** Longest document that is translated, in bytes */
const maxDocumentBytes = 8 * 1024 * 1024

/** Translates a whole response, which it holds. Texts have one character per byte. */
export class DocumentTranslation implements BodyRewriter {
  readonly #toBody: AnswerTranslation['toBody']
  #text = ''

  constructor({ toBody }: AnswerTranslation) {
    this.#toBody = toBody
  }

  take(bytes: string): string {
    this.#text += bytes
    if (this.#text.length > maxDocumentBytes) throw new InvalidResponse('an answer that is too long')
    return ''
  }

  finish(): string {
    const answer: unknown = JSON.parse(Buffer.from(this.#text, 'latin1').toString())
    this.#text = ''
    return toLatin1(writeJson(this.#toBody(answer)))
  }
}

/** Translates the events that a meter forwards, and holds at most one. Texts have one character per byte. */
export class StreamTranslation implements BodyMeter {
  readonly #meter: BodyMeter
  readonly #events: EventTranslation
  /** An incomplete event. The meter limits its length. */
  #rest = ''

  constructor(meter: BodyMeter, events: EventTranslation) {
    this.#meter = meter
    this.#events = events
  }

  take(bytes: string): string {
    const scanned = this.#rest.length
    const text = this.#rest + this.#meter.take(bytes)
    const end = endOfLastEvent(text, scanned)
    this.#rest = copyText(text.slice(end))
    return this.#translateEvents(text.slice(0, end))
  }

  #translateEvents(events: string): string {
    let translated = ''
    let text = events
    while (text !== '') {
      const length = endOfEvent(text, 0) || text.length
      translated += this.#translate(text.slice(0, length))
      text = text.slice(length)
    }
    return translated
  }

  /** Translates one event. Those without JSON say nothing, such as comments and the end of the stream. */
  #translate(event: string): string {
    const data = parseEventData(event)
    return data === null ? '' : writeEvents(this.#events.take(data, this.usage()))
  }

  finish(error?: ErrorFacts): string {
    const last = (error === undefined ? this.#rest : '') + this.#meter.finish(error)
    this.#rest = ''
    return this.#translateEvents(last) + writeEvents(this.#events.finish(this.usage()))
  }

  get isBroken(): boolean {
    return this.#meter.isBroken === true
  }

  usage(): TokenUsage | null {
    return this.#meter.usage()
  }

  partialUsage(): TokenUsage | null {
    return this.#meter.partialUsage()
  }
}

function writeEvents(events: readonly CallerEvent[]): string {
  return toLatin1(events.map(writeEvent).join(''))
}
