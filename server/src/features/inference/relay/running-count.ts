import { copyText } from '../../../base/copy-text.ts'
import { findMembers, JsonError, memberNames } from '../../../gateway/json-walk.ts'

const firstChoice = '"choices":[{'
/** The end of a count, of its event and of the line, and a blank line */
const countEnd = '}}\n\n'

/**
 * Finds the count in the events of an engine that counts as it goes, without parsing them. Each event starts
 * with the same text, up to its first choice, and ends with the count, an object of numbers. The start of a
 * parsed event means choices. Texts have one character per byte.
 */
export class RunningCount {
  /** What stands before the numbers. Quotes in strings are escaped, so this is a member. */
  readonly #opening: string
  /** The member without a count */
  readonly #none: string
  /** The start of an event that was parsed; empty until there is one */
  #head = ''

  constructor(member: string) {
    this.#opening = `,"${member}":{`
    this.#none = `,"${member}":null`
  }

  /** Returns the offset of the comma before the count of an event; -1 if the event must be parsed. */
  find(event: string): number {
    const { length } = this.#head
    if (length === 0 || event.slice(0, length) !== this.#head || !event.endsWith(countEnd)) return -1
    const brace = event.lastIndexOf('{')
    const start = brace + 1 - this.#opening.length
    if (start < length || !event.startsWith(this.#opening, start)) return -1
    // The object before may be another count.
    const isOnly = event[start - 1] !== '}' && event.indexOf('}', brace) === event.length - countEnd.length
    return isOnly ? start : -1
  }

  /** Returns the count at an offset that `find` returned. */
  read(event: string, start: number): Readonly<Record<string, unknown>> | null {
    try {
      return JSON.parse(event.slice(start + this.#opening.length - 1, 1 - countEnd.length))
    } catch {
      return null
    }
  }

  /** Returns the event without the count at an offset that `find` returned, or with null in its place. */
  cut(event: string, start: number, leavesNull: boolean): string {
    return event.slice(0, start) + (leavesNull ? this.#none : '') + countEnd.slice(1)
  }

  /** Takes the start of an event that was parsed, if it has a choice. */
  learn(event: string): void {
    // The second brace opens the first choice, unless an object is before the choices.
    const end = event.indexOf('{', event.indexOf('{') + 1) + 1
    const choices = end - firstChoice.length
    if (!event.startsWith('data:') || !event.startsWith(firstChoice, choices)) return
    if (event[choices - 1] !== '\\') this.#head = copyText(event.slice(0, end))
  }
}

const dataLine = /^data:.*$/gm

/** Cuts a member from an event, or sets it to null. Returns events without the member unchanged. */
export function cutMember(event: string, member: string, leavesNull: boolean): string {
  const lines = [...event.matchAll(dataLine)]
  const line = lines[0]
  // No engine writes an event's data in several lines.
  if (line === undefined || lines.length > 1) return event
  const start = line.index + 'data:'.length
  const end = line.index + line[0].length
  return event.slice(0, start) + cutFromObject(event.slice(start, end), member, leavesNull) + event.slice(end)
}

function cutFromObject(object: string, member: string, leavesNull: boolean): string {
  let left = object
  for (const { start, end } of findInObject(object, member).toReversed()) {
    if (leavesNull) {
      left = `${left.slice(0, start)}null${left.slice(end)}`
      continue
    }
    const colon = left.lastIndexOf(':', start)
    const nameEnd = left.lastIndexOf('"', colon)
    const nameStart = left.lastIndexOf('"', nameEnd - 1)
    const next = skipSpaces(left, end, 1)
    const previous = skipSpaces(left, nameStart - 1, -1)
    if (left[next] === ',') left = left.slice(0, nameStart) + left.slice(skipSpaces(left, next + 1, 1))
    else left = left.slice(0, left[previous] === ',' ? previous : nameStart) + left.slice(end)
  }
  return left
}

function skipSpaces(text: string, from: number, step: 1 | -1): number {
  let at = from
  while (text[at] === ' ' || text[at] === '\t') at += step
  return at
}

function findInObject(object: string, member: string) {
  try {
    return findMembers(Buffer.from(object, 'latin1'), memberNames([member]))
  } catch (error) {
    if (error instanceof JsonError) return []
    throw error
  }
}
