import { endOfLastEvent, eventAround, parseEventData } from '../../gateway/sse-framing.ts'
import type { TokenUsage } from '../metering/record-tokens.ts'
import type { BodyMeter } from './body-meter.ts'
import type { ModelRenaming } from './model-renaming.ts'
import { readUsage } from './usage.ts'

const maxEventBytes = 8 * 1024 * 1024
// Without the opening quote: the search jumps between occurrences of the first character, and quotes are frequent.
const usageName = 'usage"'
const deltaName = 'delta"'

/**
 * Reads the usage of a chat stream and forwards the server-sent events unchanged, except for the model's name. With `dropsUsage` it
 * removes the chunk that holds only usage, because the caller did not ask for it. With either change, events are forwarded once they
 * are complete. If the engine reports no usage, each chunk seen counts as one output token.
 */
export class StreamMeter implements BodyMeter {
  readonly dropsUsage: boolean
  readonly renaming: ModelRenaming | null
  /** False if bytes are forwarded as they arrive */
  readonly changesEvents: boolean
  /** An incomplete event */
  rest = ''
  reported: TokenUsage | null = null
  chunks = 0

  constructor(dropsUsage: boolean, renaming: ModelRenaming | null) {
    this.dropsUsage = dropsUsage
    this.renaming = renaming
    this.changesEvents = dropsUsage || renaming !== null
  }

  take(bytes: string): string {
    const all = this.rest === '' ? bytes : this.rest + bytes
    const end = endOfLastEvent(all, this.rest.length)
    if (end === all.length) {
      this.rest = ''
      const forwarded = this.readEvents(all)
      return this.changesEvents ? forwarded : bytes
    }
    if (all.length - end > maxEventBytes) throw new Error('the engine sent an event that is too long')
    this.rest = copyFrom(all, end)
    const forwarded = this.readEvents(all.slice(0, end))
    return this.changesEvents ? forwarded : bytes
  }

  finish(): string {
    const last = this.readEvents(this.rest)
    this.rest = ''
    return this.changesEvents ? last : ''
  }

  usage(): TokenUsage {
    return this.reported ?? { inputTokens: 0, outputTokens: this.chunks }
  }

  partialUsage(): TokenUsage {
    return this.usage()
  }

  /** Reads complete events and returns those to forward. Parses only events that contain usage. */
  readEvents(events: string): string {
    this.chunks += countOf(events, deltaName)
    let usageAt = findUsage(events, 0)
    let forwarded = ''
    let copied = 0
    while (usageAt !== -1) {
      const { start, end } = eventAround(events, usageAt)
      if (this.isDropped(events.slice(start, end))) {
        forwarded += events.slice(copied, start)
        copied = end
      }
      usageAt = findUsage(events, end)
    }
    const kept = copied === 0 ? events : forwarded + events.slice(copied)
    return this.renaming === null ? kept : this.renaming.inEvents(kept)
  }

  /** Reads the usage of an event; true when the event must not be forwarded. */
  isDropped(event: string): boolean {
    const chunk = parseEventData(event)
    const usage = readUsage(chunk)
    if (usage !== null) this.reported = usage
    return this.dropsUsage && isUsageChunk(chunk)
  }
}

/** Returns the text from `start` on. A short rest is copied, because a slice would keep all of `text` in memory. */
function copyFrom(text: string, start: number): string {
  const part = text.slice(start)
  return part.length > text.length / 2 ? part : Buffer.from(part, 'latin1').toString('latin1')
}

const objectValue = /\s*:\s*(?:\{|$)/y

/** Returns the next position of `usage` with an object as its value, or -1. Some engines send `"usage": null` with each chunk. */
function findUsage(text: string, from: number): number {
  for (let at = text.indexOf(usageName, from); at !== -1; at = text.indexOf(usageName, at + 1)) {
    objectValue.lastIndex = at + usageName.length
    if (text[at - 1] === '"' && objectValue.test(text)) return at
  }
  return -1
}

function countOf(text: string, name: string): number {
  let count = 0
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + name.length)) count += 1
  return count
}

/** True for a chunk that holds only usage. */
function isUsageChunk(chunk: unknown): boolean {
  const { choices, usage } = (chunk ?? {}) as { choices?: unknown; usage?: unknown }
  return Array.isArray(choices) && choices.length === 0 && typeof usage === 'object' && usage !== null
}
