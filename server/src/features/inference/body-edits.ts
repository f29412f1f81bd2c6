import type { MemberValue } from '../../gateway/json-walk.ts'

/** The body of a request with the members that were read. */
export interface ReadBody {
  bytes: Buffer
  /** In order, duplicates included */
  members: readonly MemberValue[]
  /** By name; of duplicates the last one */
  values: Readonly<Record<string, unknown>>
  streams: boolean
}

/** A replacement of the bytes from `start` to `end`. */
export interface Edit {
  start: number
  end: number
  /** null stands for the engine's name of the model */
  text: string | null
}

/** Applies edits, which are in order, to a body with one character per byte. */
export function editText(body: string, edits: readonly Edit[], modelUid: string): string {
  let edited = ''
  let end = 0
  for (const edit of edits) {
    edited +=
      body.slice(end, edit.start) + Buffer.from(edit.text ?? JSON.stringify(modelUid)).toString('latin1')
    end = edit.end
  }
  return edited + body.slice(end)
}

/** Applies edits, which are in order, without copying the body. */
export function editBytes(body: Buffer, edits: readonly Edit[], modelUid = ''): Buffer[] {
  const pieces: Buffer[] = []
  let end = 0
  for (const edit of edits) {
    pieces.push(body.subarray(end, edit.start), Buffer.from(edit.text ?? JSON.stringify(modelUid)))
    end = edit.end
  }
  return [...pieces, body.subarray(end)]
}
