import type { MemberValue } from '../../../gateway/json-walk.ts'
import type { ChatForm, TokenCounts } from '../../../ports/runtime-engine.ts'

/** The body of a request with the members that were read. */
export interface ReadBody {
  bytes: Buffer
  /** In order, duplicates included */
  members: readonly MemberValue[]
  /** By name; of duplicates the last one */
  values: Readonly<Record<string, unknown>>
  streams: boolean
}

/** What a body depends on at the engine that gets it. */
export interface EditTarget {
  /** The engine's name of the model */
  readonly servedModelName: string
  readonly counts: TokenCounts
  /** The engine brings the messages of a chat in an order that the model's template takes */
  readonly adaptsRoles: boolean
  /** null if the deployment is not shared */
  readonly sharedWith: unknown
  /** The `cache_salt` of requests; null if the engine knows none */
  readonly cacheSalt: string | null
  /** Requests must have `cache_prompt: false` */
  readonly cacheOff: boolean
  /** null if the engine does all that chats may ask for */
  readonly chatForm: ChatForm | null
  /** The `lora` of requests; null if callers may set it */
  readonly lora: string | null
  /** The longest request of the engine, in tokens; null when unknown */
  readonly contextTokens: number | null
}

/** A replacement of the bytes from `start` to `end`, which stay for a target with null. */
export interface Edit {
  start: number
  end: number
  text: string | ((target: EditTarget) => string | null)
}

/** Applies edits, which are in order, to a body with one character per byte. */
export function editText(body: string, edits: readonly Edit[], target: EditTarget): string {
  let edited = ''
  let end = 0
  for (const edit of edits) {
    const text = textOf(edit, target)
    if (text === null) continue
    edited += body.slice(end, edit.start) + toLatin1(text)
    end = edit.end
  }
  return edited + body.slice(end)
}

/** Applies edits, which are in order, without copying the body. */
export function editBytes(body: Buffer, edits: readonly Edit[], target: EditTarget): Buffer[] {
  const pieces: Buffer[] = []
  let end = 0
  for (const edit of edits) {
    const text = textOf(edit, target)
    if (text === null) continue
    pieces.push(body.subarray(end, edit.start), Buffer.from(text))
    end = edit.end
  }
  return [...pieces, body.subarray(end)]
}

/** Returns the offset after the brace that opens the object. */
export function startOfMembers(body: Buffer): number {
  return body.indexOf(openingBrace) + 1
}

const openingBrace = 0x7b
// oxlint-disable-next-line no-control-regex -- all of ASCII
const ascii = /^[\0-\x7f]*$/

/** Returns the UTF-8 of a text, one character per byte. */
export function toLatin1(text: string): string {
  return ascii.test(text) ? text : Buffer.from(text).toString('latin1')
}

function textOf({ text }: Edit, target: EditTarget): string | null {
  return typeof text === 'string' ? text : text(target)
}
