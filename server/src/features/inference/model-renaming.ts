import { depthAt } from '../../gateway/json-depth.ts'
import { edgeLength } from './usage.ts'

const modelMember = /(?<!\\)"model"[ \t\r\n]*:[ \t\r\n]*"$/
/** Most characters from the name of the member to its value */
const memberReach = 64

/**
 * Gives a response the model name of the request: engines know the model by another name and repeat that. Replaces the value of
 * top-level members called `model` if it is the engine's name, and no other byte. Quotes in generated text are escaped, so it can't
 * be mistaken for the member. Texts have one character per byte.
 */
export class ModelRenaming {
  /** Without the opening quote, because the search jumps between occurrences of the first character */
  readonly sought: string
  readonly replacement: string

  constructor(engineName: string, requestedName: string) {
    this.sought = toLatin1(JSON.stringify(engineName)).slice(1)
    this.replacement = toLatin1(JSON.stringify(requestedName))
  }

  /** Renames the model in each of several complete server-sent events. */
  inEvents(events: string): string {
    let renamed = ''
    let copied = 0
    for (let at = this.find(events, 0); at !== -1; at = this.find(events, at + this.sought.length)) {
      if (!isTopLevelInEvent(events, at)) continue
      renamed += events.slice(copied, at - 1) + this.replacement
      copied = at + this.sought.length
    }
    return copied === 0 ? events : renamed + events.slice(copied)
  }

  /** Renames the model near the start of a JSON object; null when it is not there. */
  atStart(text: string): string | null {
    const at = this.findAtStart(text)
    return at === -1 ? null : this.replace(text, at)
  }

  /** Renames the model near the end of a JSON object, whose start may be missing. */
  atEnd(text: string): string {
    const at = this.findAtEnd(text)
    return at === -1 ? text : this.replace(text, at)
  }

  /** Renames the model near the start or the end of a JSON object. May overwrite `body`. */
  inBody(body: Buffer): Buffer {
    const start = body.toString('latin1', 0, edgeLength)
    const inStart = this.findAtStart(start)
    if (inStart !== -1) {
      const head = Buffer.from(start.slice(0, inStart - 1) + this.replacement, 'latin1')
      return replaceStart(body, inStart + this.sought.length, head)
    }
    const endAt = Math.max(0, body.length - edgeLength)
    const end = body.toString('latin1', endAt)
    const inEnd = this.findAtEnd(end)
    if (inEnd === -1) return body
    const tail = Buffer.from(this.replacement + end.slice(inEnd + this.sought.length), 'latin1')
    return replaceEnd(body, endAt + inEnd - 1, tail)
  }

  findAtStart(text: string): number {
    const at = this.find(text, 0)
    return at !== -1 && at < edgeLength && isTopLevel(text, 0, at) ? at : -1
  }

  findAtEnd(text: string): number {
    for (let at = this.find(text, 0); at !== -1; at = this.find(text, at + 1)) {
      if (depthAt(text, at + this.sought.length, text.length, 1) === 0) return at
    }
    return -1
  }

  /** Returns the next position of the engine's name, after its quote, as the value of a member called `model`; or -1. */
  find(text: string, from: number): number {
    for (let at = text.indexOf(this.sought, from); at !== -1; at = text.indexOf(this.sought, at + 1)) {
      if (text.startsWith('"model":"', at - 9) && text[at - 10] !== '\\') return at
      if (modelMember.test(text.slice(Math.max(0, at - memberReach), at))) return at
    }
    return -1
  }

  replace(text: string, at: number): string {
    return text.slice(0, at - 1) + this.replacement + text.slice(at + this.sought.length)
  }
}

/** Returns true if the member with the value at `at` belongs to the object whose text starts at `from`. */
function isTopLevel(text: string, from: number, at: number): boolean {
  // Most engines write the model before any inner object.
  return text.lastIndexOf('{', at) === from || depthAt(text, from, at - 1) === 1
}

function isTopLevelInEvent(events: string, at: number): boolean {
  // JSON has no line breaks inside strings, and no engine writes an event's data in several lines.
  const line = events.lastIndexOf('\n', at) + 1
  return events.startsWith('data:', line) && isTopLevel(events, events.indexOf('{', line), at)
}

/** Replaces the first `length` bytes by `head`, without moving the bytes after them if there is room. */
function replaceStart(body: Buffer, length: number, head: Buffer): Buffer {
  const from = length - head.length
  if (from < 0) return Buffer.concat([head, body.subarray(length)])
  head.copy(body, from)
  return body.subarray(from)
}

function replaceEnd(body: Buffer, from: number, tail: Buffer): Buffer {
  if (from + tail.length > body.length) return Buffer.concat([body.subarray(0, from), tail])
  tail.copy(body, from)
  return body.subarray(0, from + tail.length)
}

function toLatin1(text: string): string {
  return Buffer.from(text).toString('latin1')
}
