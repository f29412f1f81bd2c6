import { ApplicationError } from '../../errors.ts'
import { locateMembers, replaceValues } from './json-edit.ts'

/** What the gateway needs to know of a request; everything else passes through unread. */
export interface InferenceRequest {
  model: string
  stream: boolean
  /** The caller wants the usage chunk at the end of a stream */
  includesUsage: boolean
  wantsBase64: boolean
  text: string
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads a body; throws a 400 for what is not a JSON object with a `model`. */
export function readInferenceRequest(body: Buffer): InferenceRequest {
  const text = decode(body)
  const value = parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformed('The body must be a JSON object.')
  }
  const { model, stream, stream_options, encoding_format } = value as Record<string, unknown>
  if (typeof model !== 'string' || model === '') {
    throw malformed('`model` is required: the id of a deployment, or the name of its model.')
  }
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    throw malformed('`stream` must be true or false.')
  }
  return {
    model,
    stream: stream === true,
    includesUsage: (stream_options as { include_usage?: unknown } | null | undefined)?.include_usage === true,
    wantsBase64: encoding_format === 'base64',
    text,
  }
}

/** The body for the engine: its own name for the model, and usage asked for at the end of a stream. */
export function rewriteForEngine(request: InferenceRequest, modelUid: string): string {
  const asksUsage = request.stream && !request.includesUsage
  const names = asksUsage ? ['model', 'stream_options'] : ['model']
  const members = locateMembers(request.text, new Set(names))
  const rewritten = replaceValues(request.text, members, ({ name, start, end }) =>
    name === 'model' ? JSON.stringify(modelUid) : withUsage(request.text.slice(start, end)),
  )
  if (!asksUsage || members.some(({ name }) => name === 'stream_options')) return rewritten
  return rewritten.replace('{', '{"stream_options":{"include_usage":true},')
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

function decode(body: Buffer): string {
  try {
    return utf8.decode(body)
  } catch {
    throw malformed('The body must be JSON in UTF-8.')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformed('The body is not valid JSON.')
  }
}

function malformed(message: string): ApplicationError {
  return new ApplicationError('malformed', 'invalid_request_error', message)
}
