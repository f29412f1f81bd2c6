import { copyText } from '../../../base/copy-text.ts'
import { memberNames, findMembers, JsonError } from '../../../gateway/json-walk.ts'
import type { EventRenaming } from './event-renaming.ts'

const dataStart = 'data: {'
const firstChoice = '"choices":[{'
const eventEnd = '}\n\n'

/**
 * Cuts one member from the events of a stream by position. Engines that count as they go write the same text
 * at the start of each event, up to the first choice, and the member last, as an object with only numbers.
 * Once one such event has been parsed, its start is the head by which the others are known. Quotes in strings
 * are escaped, so `,"name":` is a member; the brace between it and the end of the event closes the outermost
 * object, so it is a member of that. Texts have one character per byte.
 */
export class EventCutter {
  readonly member: string
  /** What stands before the object */
  readonly opening: string
  /** Empty until one is known */
  head = ''
  /** The head as the caller gets it */
  newHead = ''
  /** The head has the model's name, so events that are cut need no other renaming */
  renamesHead = false
  /** The end of one event and the head of the next, as the caller gets them */
  joint = ''
  /**
   * Characters from the member to the end of the line. Numbers grow slowly, so the next event mostly has as
   * many
   */
  tailLength = 0
  /** The end of the last run */
  end = 0
  /** The member's name in the last event of the last run, after the quote */
  lastAt = 0

  constructor(member: string) {
    this.member = member
    this.opening = `,"${member}":{`
  }

  /**
   * Returns, for the caller, the events from `start` on that can be cut by position. They end at `end`, which
   * is `start` if there is none.
   */
  cutRun(events: string, start: number): string {
    const { head } = this
    let run = ''
    this.end = start
    if (head === '') return ''
    while (events.slice(this.end, this.end + head.length) === head) {
      const from = this.end + head.length
      const line = events.indexOf('\n', from)
      const member = this.findMember(events, from, line)
      if (member === -1) break
      run += this.end === start ? this.newHead : this.joint
      run += events.slice(from, member)
      this.end = line + 2
      this.lastAt = member + ',"'.length
    }
    return this.end === start ? '' : run + eventEnd
  }

  /**
   * Returns where the member stands before the line feed at `line`, as the last one of an event; -1 if the
   * event must be parsed.
   */
  findMember(events: string, from: number, line: number): number {
    const { opening } = this
    let at = line - this.tailLength
    if (at < from || events.slice(at, at + opening.length) !== opening) {
      at = from + events.slice(from, line).lastIndexOf(opening)
      if (at < from) return -1
      this.tailLength = line - at
    }
    const objectEnd = line - eventEnd.length + 1
    return events.indexOf('}', at) === objectEnd && events.startsWith(`}${eventEnd}`, objectEnd) ? at : -1
  }

  /** Takes the head of an event that the member is cut from, and gives it the caller's name of the model. */
  learnHead(event: string, renaming: EventRenaming | null): void {
    // The second brace opens the first choice.
    const end = event.indexOf('{', dataStart.length) + 1
    const choices = end - firstChoice.length
    if (!event.startsWith('data:') || !event.startsWith(firstChoice, choices)) return
    if (event[choices - 1] === '\\') return
    this.head = copyText(event.slice(0, end))
    this.newHead = renaming === null ? this.head : renaming.inHead(this.head)
    this.joint = eventEnd + this.newHead
    this.renamesHead = this.newHead !== this.head
  }
}

const dataLine = /^data:.*$/gm

/**
 * Cuts a member from the object that is the data of one event, wherever it is in the object. Returns other
 * events unchanged.
 */
export function cutMember(event: string, member: string): string {
  const lines = [...event.matchAll(dataLine)]
  const line = lines[0]
  // No engine writes an event's data in several lines.
  if (line === undefined || lines.length > 1) return event
  const start = line.index + 'data:'.length
  const end = line.index + line[0].length
  return event.slice(0, start) + cutFromObject(event.slice(start, end), member) + event.slice(end)
}

function cutFromObject(object: string, member: string): string {
  let left = object
  for (const { start, end } of findInObject(object, member).toReversed()) {
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
