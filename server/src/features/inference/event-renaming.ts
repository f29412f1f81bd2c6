import { copyText } from '../../base/copy-text.ts'
import type { ModelRenaming } from './model-renaming.ts'

/** Batches of events whose anchors all differ are searched name by name after this many anchors */
const maxAnchors = 2

/**
 * Renames the model in the events of one stream. Engines write the same text around the model's name in each event of a stream: before
 * it, back to the start of the line, or after it, up to the line's end. Once one name has been found to be in its place, that text is
 * an anchor, and a search for it finds the others without another look at their objects. Texts have one character per byte.
 */
export class EventRenaming {
  readonly renaming: ModelRenaming
  /** Empty until the first name is found. Starts with the line break before the event, because the search jumps to its first character */
  anchor = ''
  replacement = ''

  constructor(renaming: ModelRenaming) {
    this.renaming = renaming
  }

  /** Renames the model in each of several complete server-sent events. */
  inEvents(events: string): string {
    if (this.renaming.findInEvents(events, 0) === -1) return events
    let renamed = this.replaceAnchors(events)
    for (let anchors = 0; anchors < maxAnchors; anchors += 1) {
      const at = this.renaming.findInEvents(renamed, 0)
      if (at === -1) return renamed
      if (!this.learnAnchor(renamed, at)) break
      renamed = this.replaceAnchors(renamed)
    }
    return this.renaming.inEvents(renamed)
  }

  replaceAnchors(events: string): string {
    const { anchor, replacement } = this
    if (anchor === '') return events
    let replaced = ''
    let copied = 0
    // No line break precedes the first event.
    if (anchor[0] === '\n' && events.startsWith(anchor.slice(1))) {
      replaced = replacement.slice(1)
      copied = anchor.length - 1
    }
    for (let at = events.indexOf(anchor, copied); at !== -1; at = events.indexOf(anchor, copied)) {
      replaced += events.slice(copied, at) + replacement
      copied = at + anchor.length
    }
    return copied === 0 ? events : replaced + events.slice(copied)
  }

  /**
   * Takes the line before or after the name at `at` as the anchor. Both prove the place of an equal text: JSON has no raw quotes and line
   * breaks in strings, and the depth of a member follows from either end of the object. False if the line does not end in `events`.
   */
  learnAnchor(events: string, at: number): boolean {
    const { sought, replacement, parents, prefix } = this.renaming
    const line = events.lastIndexOf('\n', at) + 1
    const end = at + sought.length
    const innerObject = events.indexOf('{', events.indexOf('{', line) + 1)
    if (innerObject === -1 || innerObject > at || parents.length > 0) {
      this.anchor = copyText(`\n${events.slice(line, end)}`)
      this.replacement = copyText(`\n${events.slice(line, at - 1)}${replacement}`)
      return true
    }
    const lineEnd = events.indexOf('\n', end) + 1
    const start = at - prefix.length
    const after = events.slice(end, lineEnd)
    if (!events.startsWith(prefix, start) || !after.trimEnd().endsWith('}')) return false
    this.anchor = copyText(events.slice(start, lineEnd))
    this.replacement = copyText(prefix.slice(0, -1) + replacement + after)
    return true
  }
}
