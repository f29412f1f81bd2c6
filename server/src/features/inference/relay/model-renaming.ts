import { depthAt, namesAround } from '../../../gateway/json-depth.ts'
import type { MemberPath } from '../protocols/protocol.ts'
import type { RelayOwner } from './response-relay.ts'
import type { EngineTarget } from '../targets/targets.ts'
import { edgeLength } from '../protocols/usage.ts'

const spacedName = /(?<!\\)"([^"\\]*)"[ \t\r\n]*:[ \t\r\n]*"$/
/** Most characters from the start of the member's name to its value */
const memberReach = 64

/**
 * Gives a response the model name of the request: an engine has one name for the model and repeats that.
 * Replaces the value of the member at `path` if it is the engine's name, and no other byte. Quotes in
 * generated text are escaped, so it can't be mistaken for the member. Texts have one character per byte.
 */
export class ModelRenaming {
  /** The engine's name without the opening quote */
  readonly sought: string
  /**
   * The part of `sought` that a search looks for: it jumps between occurrences of the first character, and
   * letters are frequent
   */
  readonly needle: string
  /** Characters of `sought` before the needle */
  readonly skipped: number
  readonly replacement: string
  /** The names of the members around the model's */
  readonly parents: readonly string[]
  readonly name: string
  /** What stands before the sought text, without spaces */
  readonly prefix: string
  /** The last long document had the model near its end */
  wasAtEnd = false

  constructor(engineName: string, requestedName: string, path: MemberPath) {
    this.sought = toLatin1(JSON.stringify(engineName)).slice(1)
    this.needle = /[^a-z"].*/.exec(this.sought)?.[0] ?? this.sought
    this.skipped = this.sought.length - this.needle.length
    this.replacement = toLatin1(JSON.stringify(requestedName))
    this.parents = path.slice(0, -1)
    this.name = path.at(-1)!
    this.prefix = `"${this.name}":"`
  }

  /** Renames the model in each of several complete server-sent events. */
  inEvents(events: string): string {
    let renamed = ''
    let copied = 0
    for (let at = this.findInEvents(events, 0); at !== -1; at = this.findInEvents(events, copied)) {
      renamed += events.slice(copied, at - 1) + this.replacement
      copied = at + this.sought.length
    }
    return copied === 0 ? events : renamed + events.slice(copied)
  }

  /**
   * Returns the next position of the engine's name, after its quote, in its place in one of several events;
   * or -1.
   */
  findInEvents(events: string, from: number): number {
    for (let at = this.find(events, from); at !== -1; at = this.find(events, at + this.sought.length)) {
      if (this.isInPlaceInEvent(events, at)) return at
    }
    return -1
  }

  /** Renames the model near the start of a JSON object; null when it is not there. */
  atStart(text: string): string | null {
    const at = this.findAtStart(text)
    return at === -1 ? null : this.replace(text, at)
  }

  /**
   * Renames the model near the end of a JSON object, whose start may be missing: only the depth of the member
   * is checked.
   */
  atEnd(text: string): string {
    const at = this.findAtEnd(text)
    return at === -1 ? text : this.replace(text, at)
  }

  /**
   * Renames the model near the start or the end of a JSON object in the first `size` bytes of `buffer`.
   * Returns the bytes of the result, which are in `buffer` if it has room, because a copy of a long body
   * costs more than the search.
   */
  renameInPlace(buffer: Buffer, size: number): Buffer {
    // An engine writes the members of all its responses in one order.
    const first = this.wasAtEnd ? this.renameEnd(buffer, size) : this.renameStart(buffer, size)
    if (first !== null) return first
    const second = this.wasAtEnd ? this.renameStart(buffer, size) : this.renameEnd(buffer, size)
    if (second !== null) this.wasAtEnd = !this.wasAtEnd
    return second ?? buffer.subarray(0, size)
  }

  renameStart(buffer: Buffer, size: number): Buffer | null {
    const start = buffer.toString('latin1', 0, Math.min(size, edgeLength))
    const at = this.findAtStart(start)
    if (at === -1) return null
    const head = Buffer.from(start.slice(0, at - 1) + this.replacement, 'latin1')
    return replaceStart(buffer, size, at + this.sought.length, head)
  }

  renameEnd(buffer: Buffer, size: number): Buffer | null {
    const endAt = Math.max(0, size - edgeLength)
    const end = buffer.toString('latin1', endAt, size)
    const at = this.findAtEnd(end)
    if (at === -1) return null
    const tail = Buffer.from(this.replacement + end.slice(at + this.sought.length), 'latin1')
    return replaceEnd(buffer, endAt + at - 1, tail)
  }

  findAtStart(text: string): number {
    for (let at = this.find(text, 0); at !== -1 && at < edgeLength; at = this.find(text, at + 1)) {
      if (this.isInPlace(text, 0, at)) return at
    }
    return -1
  }

  /**
   * Searches backwards: the characters of a name can be frequent before it, such as the signs of an
   * embedding's numbers.
   */
  findAtEnd(text: string): number {
    const { sought, needle, skipped, parents } = this
    for (
      let seen = text.lastIndexOf(needle);
      seen >= skipped;
      seen = seen === 0 ? -1 : text.lastIndexOf(needle, seen - 1)
    ) {
      const at = seen - skipped
      if (!this.isValue(text, at)) continue
      if (depthAt(text, at + sought.length, text.length, parents.length + 1) === 0) return at
    }
    return -1
  }

  /**
   * Returns the next position of the engine's name, after its quote, as the value of a member with the right
   * name; or -1.
   */
  find(text: string, from: number): number {
    const { needle, skipped } = this
    for (
      let seen = text.indexOf(needle, from + skipped);
      seen !== -1;
      seen = text.indexOf(needle, seen + 1)
    ) {
      if (this.isValue(text, seen - skipped)) return seen - skipped
    }
    return -1
  }

  /**
   * Returns true if the engine's name stands at `at`, after its quote, as the value of a member with the
   * right name.
   */
  isValue(text: string, at: number): boolean {
    const { sought, prefix } = this
    if (!text.startsWith(sought, at)) return false
    if (text.startsWith(prefix, at - prefix.length) && text[at - prefix.length - 1] !== '\\') return true
    return spacedName.exec(text.slice(Math.max(0, at - memberReach), at))?.[1] === this.name
  }

  /**
   * Returns true if the parents of the member with the value at `at` are the right ones, in the object whose
   * text starts at `from`.
   */
  isInPlace(text: string, from: number, at: number): boolean {
    const { parents } = this
    if (parents.length > 0) {
      const names = namesAround(text, from, at - 1)
      return names.length === parents.length && parents.every((name, index) => name === names[index])
    }
    // Most engines write the model before any inner object.
    return text.lastIndexOf('{', at) === from || depthAt(text, from, at - 1) === 1
  }

  isInPlaceInEvent(events: string, at: number): boolean {
    // JSON has no line breaks inside strings, and no engine writes an event's data in several lines.
    const line = events.lastIndexOf('\n', at) + 1
    return events.startsWith('data:', line) && this.isInPlace(events, events.indexOf('{', line), at)
  }

  replace(text: string, at: number): string {
    return text.slice(0, at - 1) + this.replacement + text.slice(at + this.sought.length)
  }
}

/** The latest renaming of each target, because most requests to a target use one name */
const renamings = new WeakMap<EngineTarget, { renaming: ModelRenaming; model: string; path: MemberPath }>()

/** Returns the renaming of a response to a request; null if the caller used the engine's name. */
export function openRenaming(
  { arrival, engine }: Pick<RelayOwner, 'arrival' | 'engine'>,
  path: MemberPath,
): ModelRenaming | null {
  const { model } = arrival.request
  const { target } = engine!
  if (model === target.servedModelName) return null
  const latest = renamings.get(target)
  if (latest !== undefined && latest.model === model && latest.path === path) return latest.renaming
  const renaming = new ModelRenaming(target.servedModelName, model, path)
  renamings.set(target, { renaming, model, path })
  return renaming
}

/**
 * Replaces the first `length` bytes of the first `size` by `head`, and moves the bytes after them only if
 * `head` is longer.
 */
function replaceStart(buffer: Buffer, size: number, length: number, head: Buffer): Buffer {
  const from = Math.max(0, length - head.length)
  const moved = from + head.length - length
  if (size + moved > buffer.length) return Buffer.concat([head, buffer.subarray(length, size)])
  if (moved > 0) buffer.copyWithin(head.length, length, size)
  head.copy(buffer, from)
  return buffer.subarray(from, size + moved)
}

/** Replaces all bytes after the first `size` by `tail`. */
function replaceEnd(buffer: Buffer, size: number, tail: Buffer): Buffer {
  const end = size + tail.length
  if (end > buffer.length) return Buffer.concat([buffer.subarray(0, size), tail])
  tail.copy(buffer, size)
  return buffer.subarray(0, end)
}

function toLatin1(text: string): string {
  return Buffer.from(text).toString('latin1')
}
