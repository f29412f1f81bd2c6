import { isUtf8 } from 'node:buffer'
import { ApplicationError } from '../../errors.ts'
import { locateMembers, replaceValues } from './json-edit.ts'
import type { MemberValue } from './json-edit.ts'
import { scanMembers } from './request-scan.ts'

/** What the gateway needs to know of a request; everything else passes through unread. */
export interface InferenceRequest {
  model: string
  stream: boolean
  /** The caller wants the usage chunk at the end of a stream */
  includesUsage: boolean
  wantsBase64: boolean
  /** UTF-8 without a byte order mark; a short one in a string, one character for each byte */
  body: Buffer | string
  /** What is written for the engine in other words than in `body`, in the order of its bytes */
  edits: readonly Edit[]
}

/** Bytes of a body and what comes in their place; null: the engine's name for the model. */
interface Edit {
  start: number
  end: number
  text: string | null
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/** Reads a body; throws a 400 for what is seen not to be a JSON object with a `model`. */
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
    stream: streams,
    includesUsage,
    wantsBase64: encoding_format === 'base64',
    body: body.length < textBytes ? body.toString('latin1') : body,
    edits: toEdits(body, members, streams && !includesUsage),
  }
}

/** The values of members by their names; null where the body turns out to be no JSON. */
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

/** What to change: each `model`, doubled ones too, and what asks for usage. */
function toEdits(body: Buffer, members: readonly MemberValue[], asksUsage: boolean): Edit[] {
  const edits: Edit[] = []
  let hasOptions = false
  for (const { name, start, end } of members) {
    if (name === 'model') edits.push({ start, end, text: null })
    if (name !== 'stream_options') continue
    hasOptions = true
    if (asksUsage) edits.push({ start, end, text: withUsage(body.toString('utf8', start, end)) })
  }
  if (asksUsage && !hasOptions) edits.unshift(insertUsage(body))
  return edits
}

function insertUsage(body: Buffer): Edit {
  const at = body.indexOf('{') + 1
  return { start: at, end: at, text: `"stream_options":{${usageAsked}},` }
}

/** Bodies below this go out in one string with their heads, which costs less than writing several pieces. */
const textBytes = 12 * 1024

/** The body for the engine: its own name for the model, and usage asked for at the end of a stream. */
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

const usageAsked = '"include_usage":true'

/** The options with usage asked for and all else as it is; what is neither an object nor null is the engine's to refuse. */
function withUsage(options: string): string {
  if (options === 'null') return `{${usageAsked}}`
  if (!options.startsWith('{')) return options
  const given = locateMembers(options, new Set(['include_usage']))
  if (given.length > 0) return replaceValues(options, given, () => 'true')
  return /^\{\s*\}$/.test(options) ? `{${usageAsked}}` : options.replace('{', `{${usageAsked},`)
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
