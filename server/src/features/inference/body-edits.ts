import type { MemberValue } from '../../gateway/json-walk.ts'
import type { TokenCounts } from '../../ports/model-runtime.ts'

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
  readonly modelUid: string
  readonly counts: TokenCounts
}

/** A replacement of the bytes from `start` to `end`. */
export interface Edit {
  start: number
  end: number
  text: string | ((target: EditTarget) => string)
}

/** Applies edits, which are in order, to a body with one character per byte. */
export function editText(body: string, edits: readonly Edit[], target: EditTarget): string {
  let edited = ''
  let end = 0
  for (const edit of edits) {
    edited += body.slice(end, edit.start) + textOf(edit, target).toString('latin1')
    end = edit.end
  }
  return edited + body.slice(end)
}

/** Applies edits, which are in order, without copying the body. */
export function editBytes(body: Buffer, edits: readonly Edit[], target: EditTarget): Buffer[] {
  const pieces: Buffer[] = []
  let end = 0
  for (const edit of edits) {
    pieces.push(body.subarray(end, edit.start), textOf(edit, target))
    end = edit.end
  }
  return [...pieces, body.subarray(end)]
}

function textOf({ text }: Edit, target: EditTarget): Buffer {
  return Buffer.from(typeof text === 'string' ? text : text(target))
}
