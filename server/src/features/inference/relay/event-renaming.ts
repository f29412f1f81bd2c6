import { copyText } from '../../../base/copy-text.ts'
import { countOf } from '../protocols/count-of.ts'
import type { ModelRenaming } from './model-renaming.ts'

/** Most characters from the model's name to the mark of generated text in the same anchor */
const markReach = 64
/** Lines that are no longer hold nothing */
const lineBreakLength = 2

/** A text around the model's name, up to either end of the line, that proves the name to be in its place. */
interface Anchor {
  readonly text: string
  readonly replacement: string
  /** False if the text starts the line, true if it ends the line */
  readonly isTail: boolean
  /** Marks of generated text in it */
  readonly chunks: number
}

/**
 * Renames the model in the events of one stream, and counts the events with generated text on the way.
 * Engines write the same text around the model's name in each event of a stream: before it, back to the start
 * of the line, or after it, up to the line's end. Once one name has been found to be in its place, that text
 * is an anchor, and a comparison with it tells where the name is in another line. JSON has no line breaks
 * inside strings, and no engine writes an event's data in several lines. Texts have one character per byte.
 */
export class EventRenaming {
  readonly renaming: ModelRenaming
  /** Occurs once in each event with generated text */
  readonly chunkMark: string
  /** Events with generated text so far, while `countsChunks` */
  chunks = 0
  /** False once the engine has counted by itself */
  countsChunks = true
  /** null until the first name is found */
  anchor: Anchor | null = null

  constructor(renaming: ModelRenaming, chunkMark: string) {
    this.renaming = renaming
    this.chunkMark = chunkMark
  }

  /** Renames the model in each of several complete server-sent events. */
  inEvents(events: string): string {
    // A nested name is in few events of a stream.
    if (this.renaming.parents.length > 0) {
      this.addChunks(events)
      return this.renaming.inEvents(events)
    }
    // The events that lost a member have the caller's name already.
    if (this.renaming.find(events, 0) === -1) {
      this.addChunks(events)
      return events
    }
    let renamed = ''
    let copied = 0
    for (let start = 0, end = 0; start < events.length; start = events[end] === '\n' ? end + 1 : end) {
      end = endOfLine(events, start)
      const { anchor } = this
      const at = anchor !== null && anchor.isTail ? end - anchor.text.length : start
      if (anchor !== null && at >= start && events.slice(at, at + anchor.text.length) === anchor.text) {
        renamed += events.slice(copied, at) + anchor.replacement
        copied = at + anchor.text.length
        if (anchor.chunks > 0) this.chunks += anchor.chunks
        else this.addChunks(events.slice(start, end))
      } else if (end > start + lineBreakLength) {
        const line = events.slice(start, end)
        const changed = this.inLine(line)
        if (changed !== line) {
          renamed += events.slice(copied, start) + changed
          copied = end
        }
      }
    }
    return copied === 0 ? events : renamed + events.slice(copied)
  }

  /** Renames the model in the start of a line. With the model's name, it is an anchor. */
  inHead(head: string): string {
    const replacement = this.renaming.inEvents(head)
    if (replacement !== head) {
      this.anchor ??= { text: head, replacement, isTail: false, chunks: countOf(head, this.chunkMark) }
    }
    return replacement
  }

  addChunks(events: string): void {
    if (this.countsChunks) this.chunks += countOf(events, this.chunkMark)
  }

  /** Renames the model in a line without the anchor, and takes the text around the name as the anchor. */
  inLine(line: string): string {
    this.addChunks(line)
    const at = this.renaming.findInEvents(line, 0)
    if (at === -1) return line
    this.anchor = this.learnAnchor(line, at) ?? this.anchor
    return this.renaming.inEvents(line)
  }

  /**
   * Returns the text from the name at `at` to either end of the line. Both prove the place of an equal text:
   * JSON has no raw quotes in strings, and the depth of a member follows from either end of the object. null
   * if the line doesn't end with the object.
   */
  learnAnchor(line: string, at: number): Anchor | null {
    const { sought, prefix } = this.renaming
    const end = at + sought.length
    const innerObject = line.indexOf('{', line.indexOf('{') + 1)
    if (innerObject === -1 || innerObject > at) {
      const mark = line.indexOf(this.chunkMark, end)
      const hasMark = mark !== -1 && mark < end + markReach
      return this.toAnchor(
        line.slice(0, at),
        hasMark ? line.slice(end, mark + this.chunkMark.length) : '',
        false,
      )
    }
    const after = line.slice(end)
    if (!line.startsWith(prefix, at - prefix.length) || !after.trimEnd().endsWith('}')) return null
    return this.toAnchor(prefix, after, true)
  }

  /**
   * Returns the anchor with these texts before and after the name. `before` ends with the quote of the name.
   */
  toAnchor(before: string, after: string, isTail: boolean): Anchor {
    const { sought, replacement } = this.renaming
    const text = copyText(before + sought + after)
    const chunks = countOf(text, this.chunkMark)
    return { text, replacement: copyText(before.slice(0, -1) + replacement + after), isTail, chunks }
  }
}

/** Returns the offset after the line that starts at `start`. */
function endOfLine(events: string, start: number): number {
  const lineFeed = events.indexOf('\n', start)
  return lineFeed === -1 ? events.length : lineFeed + 1
}
