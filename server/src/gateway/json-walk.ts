import { characterClasses, kinds as kindNames, states, transitionsIn } from './json-grammar.ts'
import type { Effect, State } from './json-grammar.ts'

/** Where the value of a top-level member is, as byte offsets. */
export interface MemberValue {
  name: string
  start: number
  end: number
}

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
/** Bytes of a string to inspect before the next native search, which costs as much as about 64 of them */
const burst = 64
const maxDepth = 1_000
/** Most bodies have fewer levels. A longer typed array isn't part of its object and costs ten times more. */
const usualDepth = 31
const maxMembers = 100
/** Longest value of a wanted member, spaces included */
const maxValueBytes = 16 * 1024

// A transition is an integer: the next state, the kind of a container that begins, an action, and the change
// of the depth. These constants and the table are here because imported ones would slow the walk down.
const stateBits = 31 << 5
const kindBits = 7 << 10
const actionBits = 7 << 13
const depthShift = 30
const deeper = 1 << depthShift
const shallower = -1 << depthShift

const textAction = 1 << 13
const nameAction = 2 << 13
const endMemberAction = 3 << 13
const endObjectAction = 4 << 13
const failAction = 5 << 13

const stateOf = (name: State) => states.indexOf(name) << 5
const kindOf = (name: (typeof kindNames)[number]) => kindNames.indexOf(name) << 10

const effects: Record<Effect, number> = {
  text: textAction,
  name: nameAction,
  endMember: endMemberAction,
  array: kindOf('array') | deeper,
  object: kindOf('object') | deeper,
  topLevelObject: kindOf('topLevelObject') | deeper,
  close: shallower,
  closeTopLevel: endObjectAction | shallower,
}

/** The class of each byte */
const classes = new Uint8Array(256).fill(31)
for (const [index, characters] of characterClasses.entries()) {
  for (const character of characters) classes[character.charCodeAt(0)] = index
}

/** The transition for `kind | state | class` */
const transitions = new Int32Array(4 << 10).fill(failAction)
for (const kind of kindNames) {
  for (const { from, characters, to, effect } of transitionsIn(kind)) {
    for (const character of characters) {
      const at = kindOf(kind) | stateOf(from) | classes[character.charCodeAt(0)]!
      transitions[at] = stateOf(to) | (effect === undefined ? 0 : effects[effect])
    }
  }
}

/** The body is not JSON that `MemberWalk` accepts. The message is a sentence for the caller. */
export class JsonError extends Error {}

/** Names that a `MemberWalk` finds. */
export interface MemberNames {
  readonly names: readonly { text: string; bytes: Buffer; isLong: boolean }[]
  /** 1 for each byte that one of the names may start with */
  readonly starts: Uint8Array
}

/** Names of lowercase letters and underscores. Only values of `long` ones may have more than 16 KiB. */
export function memberNames(texts: readonly string[], long: readonly string[] = []): MemberNames {
  const names = [...texts, ...long].map((text) => ({
    text,
    bytes: Buffer.from(text),
    isLong: long.includes(text),
  }))
  const starts = new Uint8Array(256)
  starts[backslash] = 1
  for (const { bytes } of names) starts[bytes[0]!] = 1
  return { names, starts }
}

/**
 * Validates the structure of UTF-8 JSON and finds the top-level members `names`, also escaped or duplicate
 * ones. It builds no objects, so time and memory grow only with the bytes. It can stop after any byte. The
 * contents of strings are not validated, because they can't hide a member.
 */
export class MemberWalk {
  readonly body: Buffer
  readonly #names: MemberNames
  readonly members: MemberValue[] = []
  #isObject = false
  #position = 0
  #state = stateOf('value')
  #depth = 0
  /** The kind at each depth up to the current one */
  #kinds = new Uint16Array(usualDepth + 1)
  #inString = false
  #nextQuote = -1
  /** The current top-level member if it is one of `names`, and the offset after its name */
  #member: MemberNames['names'][number] | null = null
  #nameEnd = 0

  constructor(body: Buffer, names: MemberNames) {
    this.body = body
    this.#names = names
  }

  /** The document is an object */
  get isObject(): boolean {
    return this.#isObject
  }

  /** The offset after what was walked */
  get position(): number {
    return this.#position
  }

  /** Walks at least to the offset `to`, or to the end. Returns true at the end. Throws a `JsonError`. */
  advance(to: number): boolean {
    // Local variables: fields and constants of the module would slow the loop down.
    const { body } = this
    const [next, classOf] = [transitions, classes]
    const end = Math.min(to, body.length)
    let kinds = this.#kinds
    let position = this.#position
    let state = this.#state
    let depth = this.#depth
    let inString = this.#inString
    let deepest = kinds.length - 1
    while (position < end) {
      if (inString) {
        const stop = Math.min(position + burst, body.length)
        let byte = 0
        while (position < stop && byte !== quote) {
          byte = body[position]!
          position += byte === backslash ? 2 : 1
        }
        if (byte === quote) inString = false
        else position = this.#skipText(position)
        continue
      }
      let transition = 0
      // Without branches for brackets: a processor would predict them wrongly where they are random.
      do {
        transition = next[state | classOf[body[position]!]!]!
        kinds[depth + 1] = transition & kindBits
        depth += transition >> depthShift
        state = kinds[depth]! | (transition & stateBits)
        position += 1
      } while ((transition & actionBits) === 0 && position < end && depth < deepest)

      const action = transition & actionBits
      if (action === textAction) inString = true
      else if (action !== 0) inString = this.#act(action, position)
      if (depth === deepest) {
        kinds = this.#deepen(position)
        deepest = maxDepth
      }
    }
    this.#position = position
    this.#state = state
    this.#depth = depth
    this.#inString = inString
    if (position < body.length) return false
    const last = transitions[state | classes[0x20]!]! & stateBits
    if (depth > 0 || inString || last !== stateOf('end')) throw new JsonError('The JSON is incomplete.')
    return true
  }

  /** Does what follows from the byte before `position`. Returns true if it begins a string. */
  #act(action: number, position: number): boolean {
    if (action === nameAction) {
      if (this.#names.starts[this.body[position]!] === 1) this.#startMember(position)
      return true
    }
    if (action === failAction) throw new JsonError(`The JSON is invalid at byte ${position - 1}.`)
    if (this.#member !== null) this.#endMember(this.#member, position - 1)
    if (action === endObjectAction) this.#isObject = true
    return false
  }

  /** Makes room for the kinds of more levels. */
  #deepen(position: number): Uint16Array<ArrayBuffer> {
    const kinds = this.#kinds
    if (kinds.length > maxDepth)
      throw new JsonError(`The JSON has ${maxDepth} levels at byte ${position - 1}.`)
    this.#kinds = new Uint16Array(maxDepth + 1)
    this.#kinds.set(kinds)
    return this.#kinds
  }

  /** Returns an offset in the string, at most that of its last quote, from the end `at` of a character. */
  #skipText(at: number): number {
    const { body } = this
    if (this.#nextQuote < at) this.#nextQuote = findByte(body, quote, at)
    const end = this.#nextQuote
    const most = Math.min(end - at, burst)
    let backslashes = 0
    while (backslashes < most && body[end - 1 - backslashes] === backslash) backslashes += 1
    // Counting more of them for each burst would take too long.
    if (backslashes === burst) return at
    return backslashes % 2 === 0 ? end : end + 1
  }

  /** Starts a member if one of the names is at the offset `from`. */
  #startMember(from: number): void {
    const { body } = this
    const { names } = this.#names
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index]!
      const end = endOfName(body, from, name.bytes)
      if (end < 0) continue
      this.#member = name
      this.#nameEnd = end
      return
    }
  }

  /** Ends the member before the comma or brace at the offset `at`. */
  #endMember({ text: name, isLong }: MemberNames['names'][number], at: number): void {
    const nameEnd = this.#nameEnd
    const { body, members } = this
    if (members.length === maxMembers) throw new JsonError(`\`${name}\` occurs too often.`)
    if (!isLong && at - nameEnd > maxValueBytes) throw new JsonError(`\`${name}\` is too long.`)
    let start = nameEnd
    while (isSpace(body[start]!) || body[start] === colon) start += 1
    let end = at
    while (isSpace(body[end - 1]!)) end -= 1
    members.push({ name, start, end })
    this.#member = null
  }
}

/** Finds the top-level members called `names`, in order. Throws a `JsonError`. */
export function findMembers(body: Buffer, names: MemberNames): MemberValue[] {
  const walk = new MemberWalk(body, names)
  walk.advance(body.length)
  return walk.members
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)
}

function findByte(body: Buffer, byte: number, from: number): number {
  const at = body.indexOf(byte, from)
  return at < 0 ? body.length : at
}

/** Returns the offset after the string `name`, escaped or not, at `from`; -1 for another string. */
function endOfName(body: Buffer, from: number, name: Buffer): number {
  let position = from
  for (let index = 0; index < name.length; index += 1) {
    if (body[position] === name[index]) position += 1
    else if (body[position] === backslash && unicodeEscape(body, position) === name[index]) position += 6
    else return -1
  }
  return body[position] === quote ? position + 1 : -1
}

/** The code of a `\u00XX` escape, or a negative number. Shorter escapes are no letters or underscores. */
function unicodeEscape(body: Buffer, at: number): number {
  if (body[at + 1] !== 0x75 || body[at + 2] !== 0x30 || body[at + 3] !== 0x30) return -1
  return 16 * hexValue(body[at + 4] ?? 0) + hexValue(body[at + 5] ?? 0)
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -256
}
