import { isUtf8 } from 'node:buffer'
import { ApplicationError } from '../../errors.ts'
import { createMemberScanner } from '../../gateway/json-scan.ts'
import { findMembers, JsonError, MemberWalk } from '../../gateway/json-walk.ts'
import type { MemberValue } from '../../gateway/json-walk.ts'
import type { TimeSlices } from '../../gateway/time-slices.ts'

/** The fields of a request that the gateway reads. All others are forwarded unread. */
export interface InferenceRequest {
  model: string
  streams: boolean
  /** The caller asked for the usage chunk at the end of a stream */
  includesUsage: boolean
  wantsBase64: boolean
  /** UTF-8 without a byte order mark. A short body is a string with one character per byte. */
  body: Buffer | string
  /** Changes to `body` for the engine, in order */
  edits: readonly Edit[]
}

/** A replacement of the bytes from `start` to `end`. */
interface Edit {
  start: number
  end: number
  /** null stands for the engine's name of the model */
  text: string | null
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

const readNames = ['model', 'stream', 'stream_options', 'encoding_format']
const scanMembers = createMemberScanner(readNames)

/** Longer bodies are read in slices, so that other requests proceed meanwhile. */
const maxWholeBytes = 512 * 1024
/** Bytes that are read before the next look at the clock */
const stepBytes = 64 * 1024

/**
 * Reads a request body: immediately if it is short, otherwise in slices. Throws a 400, or rejects with it, unless it looks like a JSON
 * object with a `model`; the engine validates the rest.
 */
export function readInferenceRequest(
  bytes: Buffer,
  slices: TimeSlices,
): InferenceRequest | Promise<InferenceRequest> {
  const body = bytes.subarray(0, 3).equals(byteOrderMark) ? bytes.subarray(3) : bytes
  if (body.length > maxWholeBytes) return readInSlices(body, slices)
  if (!isUtf8(body)) throw notUtf8()
  const scanned = scanMembers(body)
  return (scanned && toRequest(body, scanned)) ?? readWhole(body)
}

function readWhole(body: Buffer): InferenceRequest {
  const walk = new MemberWalk(body, readNames)
  advance(walk, body.length)
  return finish(walk)
}

async function readInSlices(body: Buffer, slices: TimeSlices): Promise<InferenceRequest> {
  let checked = 0
  await slices.run(() => (checked = checkUtf8(body, checked)) === body.length)
  const walk = new MemberWalk(body, readNames)
  await slices.run(() => advance(walk, walk.position + stepBytes))
  return finish(walk)
}

/** Checks some bytes from the offset `from`, and returns the offset after them. */
function checkUtf8(body: Buffer, from: number): number {
  let to = Math.min(from + stepBytes, body.length)
  // A character has at most three bytes after its first, and must not be split.
  for (let count = 0; count < 3 && (body[to]! & 0xc0) === 0x80; count += 1) to -= 1
  if (!isUtf8(body.subarray(from, to))) throw notUtf8()
  return to
}

function advance(walk: MemberWalk, to: number): boolean {
  try {
    return walk.advance(to)
  } catch (error) {
    if (error instanceof JsonError) throw malformed(error.message)
    throw error
  }
}

function finish({ body, members, isObject }: MemberWalk): InferenceRequest {
  if (!isObject) throw malformed('The body must be a JSON object.')
  const request = toRequest(body, members)
  if (request === null) throw malformed('The body is not valid JSON.')
  return request
}

/** Returns null if a value is not valid JSON. */
function toRequest(body: Buffer, members: readonly MemberValue[]): InferenceRequest | null {
  const values = parseMembers(body, members)
  if (values === null) return null
  const { model, stream, stream_options, encoding_format } = values
  if (typeof model !== 'string' || model === '') {
    throw malformed('`model` is required: the id of a deployment, or the name of its model.')
  }
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    throw malformed('`stream` must be true or false.')
  }
  const streams = stream === true
  const options = stream_options as { include_usage?: unknown } | null | undefined
  const includesUsage = options?.include_usage === true
  return {
    model,
    streams,
    includesUsage,
    wantsBase64: encoding_format === 'base64',
    body: body.length < maxTextBytes ? body.toString('latin1') : body,
    edits: toEdits(body, members, streams && !includesUsage),
  }
}

/** Returns the values of members by name; null when a value is not valid JSON. */
function parseMembers(body: Buffer, members: readonly MemberValue[]): Record<string, unknown> | null {
  const values: Record<string, unknown> = {}
  for (const { name, start, end } of members) {
    try {
      values[name] = JSON.parse(body.toString('utf8', start, end))
    } catch {
      return null
    }
  }
  return values
}

/** Replaces each `model`, duplicates included, and asks for usage if the gateway needs it. */
function toEdits(body: Buffer, members: readonly MemberValue[], addsUsage: boolean): Edit[] {
  const edits: Edit[] = []
  let hasOptions = false
  for (const { name, start, end } of members) {
    if (name === 'model') edits.push({ start, end, text: null })
    if (name !== 'stream_options') continue
    hasOptions = true
    if (addsUsage) edits.push({ start, end, text: withUsage(body.toString('utf8', start, end)) })
  }
  if (addsUsage && !hasOptions) edits.unshift(insertUsage(body))
  return edits
}

function insertUsage(body: Buffer): Edit {
  const at = body.indexOf('{') + 1
  return { start: at, end: at, text: `"stream_options":{${includeUsage}},` }
}

/** A shorter body is sent as one string together with the head, which costs less than writing several pieces. */
const maxTextBytes = 12 * 1024

/** Writes the body for the engine, with the engine's name for the model. */
export function writeEngineBody({ body, edits }: InferenceRequest, modelUid: string): string | Buffer[] {
  return typeof body === 'string' ? editText(body, edits, modelUid) : editBytes(body, edits, modelUid)
}

function editText(body: string, edits: readonly Edit[], modelUid: string): string {
  let edited = ''
  let end = 0
  for (const edit of edits) {
    edited +=
      body.slice(end, edit.start) + Buffer.from(edit.text ?? JSON.stringify(modelUid)).toString('latin1')
    end = edit.end
  }
  return edited + body.slice(end)
}

function editBytes(body: Buffer, edits: readonly Edit[], modelUid: string): Buffer[] {
  const pieces: Buffer[] = []
  let end = 0
  for (const edit of edits) {
    pieces.push(body.subarray(end, edit.start), Buffer.from(edit.text ?? JSON.stringify(modelUid)))
    end = edit.end
  }
  return [...pieces, body.subarray(end)]
}

const includeUsage = '"include_usage":true'

/** Adds `include_usage` to stream options. Options that are neither an object nor null are left for the engine to reject. */
function withUsage(options: string): string {
  if (options === 'null') return `{${includeUsage}}`
  if (!options.startsWith('{')) return options
  const bytes = Buffer.from(options)
  const present = findMembers(bytes, ['include_usage']).map((member) => ({ ...member, text: 'true' }))
  if (present.length > 0) return Buffer.concat(editBytes(bytes, present, '')).toString()
  return /^\{\s*\}$/.test(options) ? `{${includeUsage}}` : options.replace('{', `{${includeUsage},`)
}

function notUtf8(): ApplicationError {
  return malformed('The body must be JSON in UTF-8.')
}

function malformed(message: string): ApplicationError {
  return new ApplicationError('malformed', 'invalid_request_error', message)
}
