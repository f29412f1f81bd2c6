import { isUtf8 } from 'node:buffer'
import { ApplicationError } from '../../errors.ts'
import { locateMembers, replaceValues } from '../../gateway/json-edit.ts'
import type { MemberValue } from '../../gateway/json-edit.ts'
import { createMemberScanner } from '../../gateway/json-scan.ts'

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

const scanMembers = createMemberScanner(['model', 'stream', 'stream_options', 'encoding_format'])

/** Reads a request body. Throws a 400 unless it looks like a JSON object with a `model`; the engine validates the rest. */
export function readInferenceRequest(bytes: Buffer): InferenceRequest {
  if (!isUtf8(bytes)) throw malformed('The body must be JSON in UTF-8.')
  const body = bytes.subarray(0, 3).equals(byteOrderMark) ? bytes.subarray(3) : bytes
  const scanned = scanMembers(body)
  const values = scanned === null ? null : parseMembers(body, scanned)
  const { model, stream, stream_options, encoding_format } = values ?? parseObject(body)
  if (typeof model !== 'string' || model === '') {
    throw malformed('`model` is required: the id of a deployment, or the name of its model.')
  }
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    throw malformed('`stream` must be true or false.')
  }
  const streams = stream === true
  const options = stream_options as { include_usage?: unknown } | null | undefined
  const includesUsage = options?.include_usage === true
  const members =
    values !== null && scanned !== null ? scanned : locateMembers(body.toString('latin1'), editedNames)
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
  try {
    for (const { name, start, end } of members) values[name] = JSON.parse(body.toString('utf8', start, end))
  } catch {
    return null
  }
  return values
}

const editedNames = new Set(['model', 'stream_options'])

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
  const present = locateMembers(options, new Set(['include_usage']))
  if (present.length > 0) return replaceValues(options, present, () => 'true')
  return /^\{\s*\}$/.test(options) ? `{${includeUsage}}` : options.replace('{', `{${includeUsage},`)
}

function parseObject(body: Buffer): Record<string, unknown> {
  const value = parse(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformed('The body must be a JSON object.')
  }
  return value as Record<string, unknown>
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    throw malformed('The body is not valid JSON.')
  }
}

function malformed(message: string): ApplicationError {
  return new ApplicationError('malformed', 'invalid_request_error', message)
}
