import type { ApplicationError } from '../../../../base/errors.ts'
import { ChatHistory, toNote } from '../chat-history.ts'
import type { PlacedCall } from '../chat-history.ts'
import {
  engineFields,
  nameType,
  pickFields,
  readList,
  readObject,
  readOptionalText,
  readSource,
  readText,
  refuseField,
  refuseType,
} from '../fields.ts'
import { sourceOf } from '../json-source.ts'
import type { ChatRequest, DeploymentFacts, JsonObject } from '../protocol.ts'
import { toChatTools } from './tools-to-chat.ts'

/** The members that only the model and its engine read */
export const messageSources = ['input', 'input_schema', 'schema', 'temperature', 'top_p', ...engineFields]

/** Translates a request for a message to one for a chat completion. Throws the caller's 400. */
export function toChat(request: JsonObject, facts: DeploymentFacts): ChatRequest {
  const { stop_sequences: stops, stream } = request
  const { body, paths } = toChatPrompt(request, facts)
  const format = readFormat(request)
  return {
    body: {
      ...body,
      ...pickFields(request, ['max_tokens', 'temperature', 'top_p', ...engineFields]),
      ...(stops === undefined || stops === null
        ? {}
        : {
            stop: readList(stops, 'stop_sequences').map((stop, at) => readStop(stop, `stop_sequences.${at}`)),
          }),
      ...format?.body,
      ...(stream === true ? { stream, stream_options: { include_usage: true } } : {}),
    },
    paths: new Map([
      ...paths,
      ['stop', 'stop_sequences'],
      ...(format === null ? [] : [['response_format', format.path] as const]),
    ]),
  }
}

/** The schema of a structured answer, where clients send it today or sent it before. */
function readFormat({ output_config: config, output_format: former }: JsonObject) {
  const current =
    config === undefined || config === null ? null : readObject(config, 'output_config')['format']
  const path = current === undefined || current === null ? 'output_format' : 'output_config.format'
  const given = current ?? former
  if (given === undefined || given === null) return null
  const format = readObject(given, path)
  if (format['type'] !== 'json_schema') throw refuseType(format['type'], path)
  const schema = readSource(format['schema'], `${path}.schema`)
  const body = {
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
  }
  return { body, path }
}

function readStop(value: unknown, path: string): string {
  const stop = readText(value, path)
  if (stop === '') throw refuseField(path, 'must not be empty.')
  return stop
}

/** Translates what the prompt of a message consists of. */
export function toChatPrompt(request: JsonObject, facts: DeploymentFacts): ChatRequest {
  const { model, system } = request
  const history = new ChatHistory()
  const instructions = readInstructions(system)
  if (instructions !== '') history.addSystem('system', instructions)
  const messages = readList(request['messages'], 'messages')
  if (messages.length === 0) throw refuseField('messages', 'must have at least one message.')
  for (const [index, message] of messages.entries()) {
    const isNew = index === messages.length - 1
    addMessage(history, message, { path: `messages.${index}`, isNew, facts })
  }
  const { messages: written, paths } = history.finish()
  const tools = toChatTools(request)
  return { body: { model, messages: written, ...tools.members }, paths: new Map([...paths, ...tools.paths]) }
}

function readInstructions(system: unknown): string {
  if (system === undefined || system === null) return ''
  return typeof system === 'string' ? system : readTexts(system, 'system')
}

const textOrBlocks = 'a text or a list of blocks'

/** The text of blocks that must be texts. */
function readTexts(blocks: unknown, path: string): string {
  return readList(blocks, path, textOrBlocks)
    .map((block, index) => {
      const at = `${path}.${index}`
      const { type, text } = readObject(block, at)
      if (type !== 'text') throw refuseType(type, at)
      return readText(text, `${at}.text`)
    })
    .join('\n\n')
}

/** A message of the request. */
interface Place {
  path: string
  /** True for the last one, which must be whole; in others, a sentence replaces what engines can't take. */
  isNew: boolean
  facts: DeploymentFacts
}

function addMessage(history: ChatHistory, message: unknown, place: Place): void {
  const { path } = place
  const { role, content } = readObject(message, path)
  const at = `${path}.content`
  if (role === 'system') {
    history.addSystem(path, typeof content === 'string' ? content : readTexts(content, at))
    return
  }
  if (role !== 'user' && role !== 'assistant') {
    throw refuseField(`${path}.role`, 'must be `user`, `assistant` or `system`.')
  }
  if (typeof content === 'string') {
    if (role === 'user') history.addUser(path, content)
    else history.addAnswer(path, { text: content })
    return
  }
  if (content === undefined || content === null) throw refuseField(at, `must be ${textOrBlocks}.`)
  const blocks = readBlocks(content, at)
  if (role === 'user') addUser(history, blocks, place)
  else addAnswer(history, blocks, place)
}

interface PlacedBlock {
  block: JsonObject
  at: string
}

function readBlocks(content: unknown, path: string): PlacedBlock[] {
  return readList(content, path, textOrBlocks).map((block, index) => ({
    block: readObject(block, `${path}.${index}`),
    at: `${path}.${index}`,
  }))
}

/** A chat has the results of tools in separate messages, right after the calls. */
function addUser(history: ChatHistory, blocks: readonly PlacedBlock[], place: Place): void {
  const results = blocks.filter(({ block }) => block['type'] === 'tool_result')
  const others = blocks.filter(({ block }) => block['type'] !== 'tool_result')
  for (const result of results) addResult(history, result, place)
  if (others.length > 0 || results.length === 0) {
    const parts = others.map(({ block, at }) => toPart(block, at, place))
    history.addUser(place.path, parts)
  }
}

function addResult(history: ChatHistory, { block, at }: PlacedBlock, place: Place): void {
  const { tool_use_id: id, content, is_error: failed } = block
  const parts =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : readBlocks(content, `${at}.content`).map((part) => toResultPart(part, place))
  const given = failed === true ? [{ type: 'text', text: 'The tool failed.' }, ...parts] : parts
  history.addResult(place.path, readText(id, `${at}.tool_use_id`), given)
}

/** A program made the result, so a picture or file that the model can't read is no reason for a 400. */
function toResultPart({ block, at }: PlacedBlock, place: Place): JsonObject {
  const isFile = block['type'] === 'image' || block['type'] === 'document'
  return toPart(block, at, isFile ? { ...place, isNew: false } : place)
}

function toPart(block: JsonObject, at: string, { isNew, facts }: Place): JsonObject {
  const { type, text, source } = block
  if (type === 'text') return { type, text: readText(text, `${at}.text`) }
  if (type === 'image') return toImage(source, at, { isNew, facts })
  const document = type === 'document' ? readDocument(source, `${at}.source`) : null
  if (document !== null) return { type: 'text', text: document }
  if (!isNew) return toNote(type === 'document' ? 'a document' : nameType(type))
  throw type === 'document' ? refuseSource(source, at) : refuseType(type, at)
}

function refuseSource(source: unknown, at: string): ApplicationError {
  return refuseType(readObject(source, `${at}.source`)['type'], `${at}.source`)
}

function toImage(source: unknown, at: string, { isNew, facts }: Omit<Place, 'path'>): JsonObject {
  const url = readImage(source, `${at}.source`)
  if (url !== null && facts.seesImages) return { type: 'image_url', image_url: { url } }
  if (!isNew) return toNote('an image')
  throw url === null
    ? refuseSource(source, at)
    : refuseField(at, 'is an image, and this model reads only text.')
}

/** The address of an image; null if it is a stored file. */
function readImage(value: unknown, path: string): string | null {
  const source = readObject(value, path)
  if (source['type'] === 'url') return readText(source['url'], `${path}.url`)
  if (source['type'] !== 'base64') return null
  const type = readText(source['media_type'], `${path}.media_type`)
  return `data:${type};base64,${readText(source['data'], `${path}.data`)}`
}

/** The text of a document; null if it is a file. */
function readDocument(value: unknown, path: string): string | null {
  const source = readObject(value, path)
  if (source['type'] === 'text') return readText(source['data'], `${path}.data`)
  if (source['type'] !== 'content') return null
  const { content } = source
  return typeof content === 'string' ? content : readTexts(content, `${path}.content`)
}

function addAnswer(history: ChatHistory, blocks: readonly PlacedBlock[], { path, isNew }: Place): void {
  const thoughts: string[] = []
  const texts: string[] = []
  const calls: PlacedCall[] = []
  for (const { block, at } of blocks) {
    const { type, text, thinking } = block
    if (type === 'text') texts.push(readText(text, `${at}.text`))
    else if (type === 'thinking') thoughts.push(readText(thinking, `${at}.thinking`))
    else if (type === 'tool_use') calls.push({ call: toCall(block, at), path: at })
    else if (type !== 'redacted_thinking') {
      if (isNew) throw refuseType(type, at)
      texts.push(String(toNote(nameType(type))['text']))
    }
  }
  history.addAnswer(path, { thought: thoughts.join('\n\n'), text: texts.join(''), calls })
}

function toCall({ id, name, input }: JsonObject, at: string): JsonObject {
  const called = {
    name: readText(name, `${at}.name`),
    arguments: sourceOf(readSource(input ?? {}, `${at}.input`)),
  }
  return { id: readText(id, `${at}.id`), type: 'function', function: called }
}

/** True if the caller wants the thoughts of the model in the answer. */
export function wantsThoughts({ thinking }: JsonObject): boolean {
  if (thinking === undefined || thinking === null) return false
  const type = readOptionalText(readObject(thinking, 'thinking')['type'], 'thinking.type')
  return type !== 'disabled'
}
