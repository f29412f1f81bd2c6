import { memberNames, findMembers, JsonError } from '../../gateway/json-walk.ts'

const number = String.raw`-?\d[\d.eE+-]{0,40}`
const name = String.raw`"[^"\\]{0,64}"`
// The limits keep a hostile engine from filling the memory of the search.
const innerObject = String.raw`\{(?:${name}:(?:${number}|null),?){0,32}\}`
const numbers = String.raw`\{(?:${name}:(?:${number}|null|${innerObject}),?){0,32}\}`

const emptyChoices = /"choices"\s*:\s*\[\s*\]/g

/**
 * Cuts one member from the events of a batch by position. Engines that count as they go write it last, as compact JSON with only numbers:
 * such a member is cut without a look at the rest of the event. Quotes in strings are escaped, so `,"name":` is a member; the brace
 * between it and the end of the event closes the outermost object, so it is a member of that. Texts have one character per byte.
 */
export class EventCutter {
  readonly member: string
  /** The member, the end of its object and of its event */
  readonly pattern: RegExp
  events = ''
  /** Where the last examined event begins */
  eventStart = 0
  /** The next event without choices; -1 for none */
  emptyAt = -1
  /** Carriage returns are rare, and may end lines */
  isPlain = false

  constructor(member: string) {
    this.member = member
    this.pattern = patternOf(member)
  }

  /** Takes the complete events that the other methods refer to. */
  open(events: string): void {
    this.events = events
    this.eventStart = 0
    this.isPlain = !events.includes('\r')
    this.emptyAt = this.isPlain ? findEmptyChoices(events, 0) : -1
  }

  /** Returns the end of the member with the name at `at`, after a quote; -1 unless it can be cut as it is. */
  endOfMember(at: number): number {
    const { events, pattern } = this
    pattern.lastIndex = at - 2
    if (!this.isPlain || !pattern.test(events)) return -1
    const eventEnd = pattern.lastIndex
    const start = this.startOfEvent(at)
    if (start === -1 || !events.startsWith('data:', start)) return -1
    if (this.emptyAt !== -1 && this.emptyAt < start) this.emptyAt = findEmptyChoices(events, start)
    if (this.emptyAt !== -1 && this.emptyAt < at) return -1
    this.eventStart = eventEnd
    return eventEnd - '}\n\n'.length
  }

  /** Returns the start of the event around `at`; -1 if it has several lines. */
  startOfEvent(at: number): number {
    const { events, eventStart } = this
    if (events.indexOf('\n', eventStart) > at) return eventStart
    const line = events.lastIndexOf('\n', at) + 1
    return events[line - 2] === '\n' ? line : -1
  }
}

const patterns = new Map<string, RegExp>()

function patternOf(member: string): RegExp {
  let pattern = patterns.get(member)
  if (pattern === undefined) {
    pattern = new RegExp(String.raw`,"${member}":${numbers}\}\n\n`, 'y')
    patterns.set(member, pattern)
  }
  return pattern
}

function findEmptyChoices(events: string, from: number): number {
  emptyChoices.lastIndex = from
  return emptyChoices.exec(events)?.index ?? -1
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
