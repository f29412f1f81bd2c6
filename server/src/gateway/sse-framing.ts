// Event boundaries in `text/event-stream` (HTML standard, section 9.2.6). Texts have one character per byte.

const lineFeed = 0x0a
const carriageReturn = 0x0d
/** A blank line in every combination of line endings that the standard allows */
const eventEnd = /\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n/g

/** Returns the offset after the last complete event, or 0. No event ends before `scanned`. */
export function endOfLastEvent(text: string, scanned: number): number {
  let end = text.length
  // The line feed that belongs to this carriage return may not have arrived.
  if (text.charCodeAt(end - 1) === carriageReturn) end -= 1
  for (; end > Math.max(scanned - 3, 1); end -= 1) {
    const last = text.charCodeAt(end - 1)
    if (last !== lineFeed && last !== carriageReturn) continue
    const isPair = last === lineFeed && text.charCodeAt(end - 2) === carriageReturn
    const before = text.charCodeAt(isPair ? end - 3 : end - 2)
    if (before === lineFeed || before === carriageReturn) return end
  }
  return 0
}

/** Returns the offset after the complete event that starts at `start`, or 0. */
export function endOfEvent(text: string, start: number): number {
  const line = text.indexOf('\n', start)
  // Nearly all events have one line.
  const hasOneLine = line !== -1 && text.charCodeAt(line + 1) === lineFeed
  if (hasOneLine && !text.slice(start, line).includes('\r')) return line + 2
  eventEnd.lastIndex = start
  return eventEnd.exec(text) === null ? 0 : eventEnd.lastIndex
}

/** Returns the bounds of the event around `at`: with the blank line that ends it, without those before it. */
export function eventAround(text: string, at: number): { start: number; end: number } {
  let start = at
  while (start > 0 && !(isLineBreak(text, start - 1) && endsBlankLine(text, start))) start -= 1
  eventEnd.lastIndex = at
  return { start, end: eventEnd.exec(text) === null ? text.length : eventEnd.lastIndex }
}

/** Parses the `data` of an event as JSON; null when it is not JSON. */
export function parseEventData(event: string): unknown {
  const data = onlyDataLine(event) ?? joinDataLines(event)
  try {
    return JSON.parse(nonAscii.test(data) ? Buffer.from(data, 'latin1').toString() : data)
  } catch {
    return null
  }
}

const nonAscii = /[^\0-\x7f]/

/** The data of an event of one line, as engines write them; null if there are more lines. */
function onlyDataLine(event: string): string | null {
  const end = event.indexOf('\n')
  const isOnlyLine = event.startsWith('data:') && end >= event.length - 2 && !event.includes('\r')
  return isOnlyLine && event.endsWith('\n') ? event.slice('data:'.length, end) : null
}

function joinDataLines(event: string): string {
  return event
    .split(/\r\n|\n|\r/)
    .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
    .join('\n')
}

function isLineBreak(text: string, at: number): boolean {
  return text[at] === '\n' || text[at] === '\r'
}

/** True when a blank line ends at `at`, which must follow a line break. */
function endsBlankLine(text: string, at: number): boolean {
  const last = text[at - 1] === '\n' && text[at - 2] === '\r' ? at - 2 : at - 1
  return last === 0 || isLineBreak(text, last - 1)
}
