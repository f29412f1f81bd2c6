import { copyText } from '../../base/copy-text.ts'
import { memberNames, findMembers, JsonError } from '../../gateway/json-walk.ts'
import type { EventRenaming } from './event-renaming.ts'

const dataStart = 'data: {'
const firstChoice = '"choices":[{'
const eventEnd = '}\n\n'

/**
 * Cuts one member from the events of a stream by position. Engines that count as they go write the same text at the start of each event,
 * up to the first choice, and the member last, as an object with only numbers. Once one such event has been parsed, its start is the
 * head by which the others are known. Quotes in strings are escaped, so `,"name":` is a member; the brace between it and the end of the
 * event closes the outermost object, so it is a member of that. Texts have one character per byte.
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

  constructor(member: string) {
    this.member = member
    this.opening = `,"${member}":{`
  }

  /** Returns the end of the event at `start` if `cut` may change it; -1 if it must be parsed. The member's name is at `at`, after a quote. */
  endOfEvent(events: string, start: number, at: number): number {
    const { head, opening } = this
    const from = at - ',"'.length
    if (head === '' || events.slice(start, start + head.length) !== head) return -1
    if (events.slice(from, from + opening.length) !== opening) return -1
    const end = events.indexOf('}', at) + '}'.length
    const isLast = events.indexOf('\n', start) === end + 1 && events.startsWith(eventEnd, end)
    return isLast ? end + eventEnd.length : -1
  }

  /** Returns the event for the caller. */
  cut(events: string, start: number, at: number): string {
    return this.newHead + events.slice(start + this.head.length, at - ',"'.length) + eventEnd
  }

  /** Takes the head of an event that the member is cut from, and gives it the caller's name of the model. */
  learnHead(event: string, renaming: EventRenaming | null): void {
    // The second brace opens the first choice.
    const end = event.indexOf('{', dataStart.length) + 1
    const choices = end - firstChoice.length
    if (!event.startsWith('data:') || !event.startsWith(firstChoice, choices)) return
    if (event[choices - 1] === '\\') return
    this.head = copyText(event.slice(0, end))
    this.newHead = renaming === null ? this.head : renaming.renaming.inEvents(this.head)
    this.renamesHead = this.newHead !== this.head
  }
}

const dataLine = /^data:.*$/gm

/** Cuts a member from the object that is the data of one event, wherever it is in the object. Returns other events unchanged. */
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
