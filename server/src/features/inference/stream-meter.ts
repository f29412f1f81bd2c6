import { copyText } from '../../base/copy-text.ts'
import { endOfFirstEvent, endOfLastEvent, eventAround, parseEventData } from '../../gateway/sse-framing.ts'
import type { TokenUsage } from '../metering/record-tokens.ts'
import type { BodyMeter } from './body-meter.ts'
import type { EventRenaming } from './event-renaming.ts'
import type { EventFormat } from './protocols/protocol.ts'

const maxEventBytes = 8 * 1024 * 1024
/** Reads from this length on contain many events */
const longRead = 4096

/**
 * Reads the usage of a stream and forwards the server-sent events unchanged, except for the model's name and for those that `isDropped`
 * selects. With either change, events are forwarded once they are complete. If the engine reports no usage, each chunk seen counts as
 * one output token.
 */
export class StreamMeter implements BodyMeter {
  readonly format: EventFormat
  /** The end of the name that `format` gives, because the search jumps between occurrences of the first character, and quotes are frequent */
  readonly usageMark: string
  readonly isDropped: ((event: unknown) => boolean) | null
  readonly renaming: EventRenaming | null
  /** False if bytes are forwarded as they arrive */
  readonly changesEvents: boolean
  /** An incomplete event */
  rest = ''
  reported: Partial<TokenUsage> = {}
  chunks = 0

  constructor(
    format: EventFormat,
    isDropped: ((event: unknown) => boolean) | null,
    renaming: EventRenaming | null,
  ) {
    this.format = format
    this.usageMark = `${format.usageName}"`
    this.isDropped = isDropped
    this.renaming = renaming
    this.changesEvents = isDropped !== null || renaming !== null
  }

  take(bytes: string): string {
    if (this.rest === '') return this.takeFrom(bytes, 0)
    const end = bytes.length < longRead ? 0 : endOfFirstEvent(bytes)
    if (end === 0) return this.takeFrom(this.rest + bytes, this.rest.length)
    // Only the first event is joined to the rest of the previous read, because joining everything would copy a long read once more.
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

  usage(): TokenUsage {
    const { inputTokens = 0, outputTokens = this.chunks } = this.reported
    return { inputTokens, outputTokens }
  }

  partialUsage(): TokenUsage {
    return this.usage()
  }

  /** Reads complete events and returns those to forward. Parses only events that contain usage. */
  readEvents(events: string): string {
    const { format, usageMark, isDropped } = this
    this.chunks += countOf(events, format.chunkMark)
    let usageAt = findUsage(events, usageMark, 0)
    let forwarded = ''
    let copied = 0
    while (usageAt !== -1) {
      const { start, end } = eventAround(events, usageAt)
      const event = parseEventData(events.slice(start, end))
      Object.assign(this.reported, format.readUsage(event))
      if (isDropped !== null && isDropped(event)) {
        forwarded += events.slice(copied, start)
        copied = end
      }
      usageAt = findUsage(events, usageMark, end)
    }
    const kept = copied === 0 ? events : forwarded + events.slice(copied)
    return this.renaming === null ? kept : this.renaming.inEvents(kept)
  }
}

/** Returns the text from `start` on. Only a short rest is copied. */
function copyFrom(text: string, start: number): string {
  const part = text.slice(start)
  return part.length > text.length / 2 ? part : copyText(part)
}

const objectValue = /\s*:\s*(?:\{|$)/y

/** Returns the next position of a usage member with an object as its value, or -1. Some engines send `"usage": null` with each chunk. */
function findUsage(text: string, mark: string, from: number): number {
  for (let at = text.indexOf(mark, from); at !== -1; at = text.indexOf(mark, at + 1)) {
    objectValue.lastIndex = at + mark.length
    if (text[at - 1] === '"' && objectValue.test(text)) return at
  }
  return -1
}

function countOf(text: string, name: string): number {
  let count = 0
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + name.length)) count += 1
  return count
}
