import { isUtf8 } from 'node:buffer'
import { ApplicationError } from '../../../base/errors.ts'
import { freeBuffer } from '../../../base/free-buffer.ts'
import { JsonError, memberNames, MemberWalk } from '../../../gateway/json-walk.ts'
import type { MemberNames, MemberValue } from '../../../gateway/json-walk.ts'
import type { TimeSlices } from '../../../gateway/time-slices.ts'
import { generationFields } from '../../../ports/runtime-engine.ts'
import type { ChatForm, MeaningfulField } from '../../../ports/runtime-engine.ts'
import { editBytes, editText, startOfMembers } from '../protocols/body-edits.ts'
import type { Edit, EditTarget, ReadBody } from '../protocols/body-edits.ts'
import { writeJson } from '../protocols/json-source.ts'
import { countSequences } from './count-sequences.ts'
import { MediaWalk, mayHaveMediaUrls, mediaOverlap } from './media-urls.ts'
import { TextListWalk } from './text-list.ts'
import type { Fitting, JsonObject, MemberValues, Protocol } from '../protocols/protocol.ts'

/** What the gateway knows about a request. All other fields are forwarded unread. */
export interface InferenceRequest {
  model: string
  streams: boolean
  /** The members that the protocol reads */
  values: MemberValues
  /** The members of `refusedFields` that it has */
  refusedFields: readonly string[]
  /** UTF-8 without a byte order mark. A short body is a string with one character per byte. */
  body: Buffer | string
  /** The members that change what the answer means */
  meaningfulFields: readonly MeaningfulField[]
  /** Changes to `body` for the engine, in order */
  edits: readonly Edit[]
  /** More of them, for engines of some forms; null if none needs any, and once they are among `edits` */
  fit: Fitting | null
  /** True if the routes of engines can't do all that the request asks for, so that a translation is better */
  prefersTranslation: boolean
  /** The start of a conversation's messages in `body`; -1 without any */
  messagesAt: number
  /** The sequences that an engine generates: one for each choice of each prompt */
  sequences: number
}

/** Members that callers of shared engines, or of ones with LoRAs, may not set: they affect others. */
const refusedFields = ['lora']
const noFields: readonly string[] = []

/** Members that put callers ahead or reveal prompts in a shared engine, with values that do no harm. */
const neutralValues: Readonly<Record<string, (target: EditTarget) => string | null>> = {
  priority: () => '0',
  id_slot: () => '-1',
  cache_salt: ({ cacheSalt }) => JSON.stringify(cacheSalt),
  cache_prompt: ({ cacheOff }) => (cacheOff ? 'false' : null),
}

const ownerFields = [...refusedFields, ...Object.keys(neutralValues)]

type RequestFormat = Pick<
  Protocol,
  | 'members'
  | 'unparsed'
  | 'meaningfulFields'
  | 'texts'
  | 'messages'
  | 'outputLimits'
  | 'prefersTranslation'
  | 'media'
  | 'edit'
  | 'fit'
>

/** Reads a body: at once if it is short, else in slices. A 400 unless it is a JSON object with a `model`. */
export type RequestReader = (
  bytes: Buffer,
  slices: TimeSlices,
) => InferenceRequest | Promise<InferenceRequest>

/** Longer bodies are read in slices, so that other requests proceed meanwhile. */
const maxWholeBytes = 512 * 1024
/** Bytes that are read before the next look at the clock */
const stepBytes = 64 * 1024
/** A shorter body is sent as one string with the head, which costs less than several pieces. */
const maxTextBytes = 12 * 1024

/** Returns the reader for a protocol. Engines may fetch media from the hosts in `mediaDomains`. */
export function createRequestReader(
  format: RequestFormat,
  mediaDomains: ReadonlySet<string> = new Set(),
): RequestReader {
  const { short, long } = listNames(format)
  const names = memberNames(short, long)
  return (bytes, slices) => {
    const body = hasByteOrderMark(bytes) ? bytes.subarray(3) : bytes
    if (body.length > maxWholeBytes) {
      return readInSlices(body, { names, format, mediaDomains }, slices).catch((error: unknown) => {
        freeBuffer(bytes)
        throw error
      })
    }
    if (!isUtf8(body)) throw notUtf8()
    const walk = new MemberWalk(body, names)
    advance(walk, body.length)
    const texts = listTexts(walk, format)
    for (const list of texts) list.advance(body.length)
    return toRequest(walk, checkMedia(body, { format, mediaDomains }), format, texts)
  }
}

/** Makes requests for a protocol from objects. An object becomes text once, and the text is not walked. */
export function createRequestWriter(
  format: RequestFormat,
  mediaDomains: ReadonlySet<string> = new Set(),
): (object: JsonObject) => InferenceRequest {
  const { short, long } = listNames(format)
  const names = new Set([...short, ...long])
  return (object) => {
    const { body, members } = writeObject(object, names)
    const kept = checkMedia(body, { format, mediaDomains })
    return toRequest({ body, members, isObject: true }, kept, format)
  }
}

/** The members that are read, and those of them that may be long. */
function listNames({
  members,
  unparsed = [],
  meaningfulFields = generationFields,
  texts,
  messages,
  outputLimits = [],
}: RequestFormat) {
  const long = [texts, messages].filter((name) => name !== undefined)
  return {
    short: ['model', 'stream', ...ownerFields, ...outputLimits, ...members],
    long: [...new Set([...unparsed, ...meaningfulFields, ...long])],
  }
}

/** Writes an object as JSON, and tells where its members with these names are. */
function writeObject(
  object: JsonObject,
  names: ReadonlySet<string>,
): { body: Buffer; members: MemberValue[] } {
  const members: MemberValue[] = []
  const pieces: string[] = []
  let end = 0
  const write = (piece: string) => {
    pieces.push(piece)
    end += Buffer.byteLength(piece)
  }
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue
    write(`${pieces.length === 0 ? '{' : ','}${JSON.stringify(name)}:`)
    const start = end
    write(writeJson(value))
    if (names.has(name)) members.push({ name, start, end })
  }
  return { body: Buffer.from(`${pieces.join('')}}`), members }
}

/** Throws the 400 for forbidden addresses of media. Returns the body for the call. */
function checkMedia(body: Buffer, { format, mediaDomains }: Omit<Reading, 'names'>): Buffer | string {
  const kept = body.length < maxTextBytes ? body.toString('latin1') : body
  if (mayHaveMediaUrls(kept, format.media)) {
    new MediaWalk(body, mediaDomains, format.media).advance(body.length)
  }
  return kept
}

function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** What a reader looks for. */
interface Reading {
  names: MemberNames
  format: RequestFormat
  mediaDomains: ReadonlySet<string>
}

async function readInSlices(
  body: Buffer,
  { names, format, mediaDomains }: Reading,
  slices: TimeSlices,
): Promise<InferenceRequest> {
  let checked = 0
  await slices.run(() => (checked = checkUtf8(body, checked)) === body.length)
  const walk = new MemberWalk(body, names)
  await slices.run(() => advance(walk, walk.position + stepBytes))
  let seen = 0
  let hasMedia = false
  await slices.run(() => {
    hasMedia = mayHaveMediaUrls(body.subarray(seen, seen + stepBytes + mediaOverlap), format.media)
    seen += stepBytes
    return hasMedia || seen >= body.length
  })
  if (hasMedia) {
    const media = new MediaWalk(body, mediaDomains, format.media)
    await slices.run(() => media.advance(media.position + stepBytes))
  }
  const texts = listTexts(walk, format)
  for (const list of texts) await slices.run(() => list.advance(list.position + stepBytes))
  return toRequest(walk, body, format, texts)
}

/** The members whose texts are counted, duplicates included */
function listTexts({ body, members }: MemberWalk, { texts }: RequestFormat): TextListWalk[] {
  if (texts === undefined) return []
  return members.filter(({ name }) => name === texts).map((member) => new TextListWalk(body, member))
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

function toRequest(
  { body: bytes, members, isObject }: Pick<MemberWalk, 'body' | 'members' | 'isObject'>,
  body: InferenceRequest['body'],
  format: RequestFormat,
  texts: readonly TextListWalk[] = [],
): InferenceRequest {
  if (!isObject) throw malformed('The body must be a JSON object.')
  const values = parseMembers(bytes, members, format)
  if (format.texts !== undefined) values[format.texts] = texts.at(-1)?.count ?? null
  const { model, stream } = values
  if (typeof model !== 'string' || model === '') {
    throw malformed('`model` is required: the id of a deployment, or the name of its model.')
  }
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    throw malformed('`stream` must be true or false.')
  }
  const streams = stream === true
  const read = { bytes, members, values, streams }
  return {
    model,
    streams,
    values,
    refusedFields: findRefusedFields(bytes, members),
    meaningfulFields: findMeaningfulFields(bytes, members, format),
    body,
    edits: toEdits(read, format),
    fit: format.fit?.(read) ?? null,
    prefersTranslation: format.prefersTranslation?.(read) ?? false,
    messagesAt: members.findLast(({ name }) => name === format.messages)?.start ?? -1,
    sequences: countSequences(bytes, members, values),
  }
}

function findRefusedFields(bytes: Buffer, members: readonly MemberValue[]): readonly string[] {
  let found: string[] | null = null
  for (const { name, start, end } of members) {
    if (refusedFields.includes(name) && bytes.toString('latin1', start, end) !== 'null') {
      found = [...(found ?? []), name]
    }
  }
  return found ?? noFields
}

/** Values that ask for nothing */
const neutral = /^(?:null|false|0|""|"NONE"|\[\]|\{\}|\[\s*"text"\s*\])$/

function findMeaningfulFields(
  bytes: Buffer,
  members: readonly MemberValue[],
  { meaningfulFields = generationFields }: Pick<RequestFormat, 'meaningfulFields'>,
): readonly MeaningfulField[] {
  let found: MeaningfulField[] | null = null
  for (const { name, start, end } of members) {
    const field = meaningfulFields.find((each) => each === name)
    if (field === undefined) continue
    if (neutral.test(bytes.toString('latin1', start, Math.min(end, start + 64)))) continue
    found = [...(found ?? []), field]
  }
  return found ?? noMeaningfulFields
}

const noMeaningfulFields: readonly MeaningfulField[] = []

/** The kinds of long values, by their first bytes */
const kinds: Readonly<Record<number, string>> = { 0x5b: 'array', 0x22: 'text' }

function parseMembers(
  body: Buffer,
  members: readonly MemberValue[],
  { unparsed = [], meaningfulFields = generationFields, texts, messages }: RequestFormat,
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const { name, start, end } of members) {
    if (name === texts || name === messages || ownerFields.includes(name)) continue
    if (meaningfulFields.some((field) => field === name)) continue
    if (unparsed.includes(name)) {
      values[name] = kinds[body[start]!] ?? 'other'
      continue
    }
    try {
      values[name] = JSON.parse(body.toString('utf8', start, end))
    } catch {
      throw malformed('The body is not valid JSON.')
    }
  }
  return values
}

/** Replaces each `model`, duplicates included, and makes the changes of the protocol. */
function toEdits(body: ReadBody, { edit, outputLimits = [] }: RequestFormat): readonly Edit[] {
  const edits: Edit[] = []
  for (const name of addedNames) {
    if (!body.members.some((member) => member.name === name)) edits.push(addMember(body, addedMembers[name]))
  }
  for (const { name, start, end } of body.members) {
    if (name === 'lora') edits.push({ start, end, text: writeLora })
    if (name === 'model') edits.push({ start, end, text: writeModel })
    if (outputLimits.includes(name)) edits.push({ start, end, text: limitTo(body.values[name]) })
    const neutral = neutralValues[name]
    if (neutral !== undefined) {
      edits.push({ start, end, text: (target) => (target.sharedWith === null ? null : neutral(target)) })
    }
  }
  const others = edit(body)
  return others.length === 0 ? edits : joinEdits(edits, others)
}

const joinEdits = (edits: readonly Edit[], others: readonly Edit[]): readonly Edit[] =>
  [...edits, ...others].toSorted((one, other) => one.start - other.start)

/** Adds the changes for the engines of these targets. Throws the caller's 400. */
export function fitRequest(
  request: InferenceRequest,
  targets: readonly { chatForm: ChatForm | null; engineTitle: string }[],
): void {
  const { fit } = request
  if (fit === null) return
  request.fit = null
  const titles = new Map(targets.map(({ chatForm, engineTitle }) => [chatForm, engineTitle]))
  for (const [form, title] of titles) {
    if (form !== null) request.edits = joinEdits(request.edits, fit(form, title))
  }
}

function addMember({ bytes }: ReadBody, text: Edit['text']): Edit {
  const at = startOfMembers(bytes)
  return { start: at, end: at, text }
}

const writeLora = ({ lora }: EditTarget) => lora

/** Members that engines need, for requests without them */
const addedMembers = {
  /** Of the organization, or of the person */
  cache_salt: ({ cacheSalt }: EditTarget) => (cacheSalt === null ? null : `"cache_salt":"${cacheSalt}",`),
  cache_prompt: ({ cacheOff }: EditTarget) => (cacheOff ? '"cache_prompt":false,' : null),
  lora: ({ lora }: EditTarget) => (lora === null ? null : `"lora":${lora},`),
}
const addedNames = ['cache_salt', 'cache_prompt', 'lora'] as const

/** Agents ask for more tokens than a context has, which some engines refuse. */
function limitTo(most: unknown): Edit['text'] {
  return ({ contextTokens }) =>
    typeof most === 'number' && contextTokens !== null && most > contextTokens ? String(contextTokens) : null
}

const writeModel = ({ servedModelName }: EditTarget): string => JSON.stringify(servedModelName)

/** Writes the body for an engine, with the engine's name for the model. */
export function writeEngineBody({ body, edits }: InferenceRequest, target: EditTarget): string | Buffer[] {
  return typeof body === 'string' ? editText(body, edits, target) : editBytes(body, edits, target)
}

function notUtf8(): ApplicationError {
  return malformed('The body must be JSON in UTF-8.')
}

function malformed(message: string): ApplicationError {
  return new ApplicationError('invalid_request_error', message)
}
