import {
  engineFields,
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
import type { JsonObject } from '../protocol.ts'
import { toChatTools } from './tools-to-chat.ts'

/** The members that only the model and its engine read */
export const messageSources = ['input', 'input_schema', 'schema', 'temperature', 'top_p', ...engineFields]

/** Translates a request for a message to one for a chat completion. Throws the caller's 400. */
export function toChat(request: JsonObject): JsonObject {
  const { stop_sequences: stops, stream } = request
  return {
    ...toChatPrompt(request),
    ...pickFields(request, ['max_tokens', 'temperature', 'top_p', ...engineFields]),
    ...(stops === undefined || stops === null
      ? {}
      : {
          stop: readList(stops, 'stop_sequences').map((stop, at) => readStop(stop, `stop_sequences.${at}`)),
        }),
    ...readFormat(request),
    ...(stream === true ? { stream, stream_options: { include_usage: true } } : {}),
  }
}

/** The schema of a structured answer, where clients send it today or sent it before. */
function readFormat({ output_config: config, output_format: former }: JsonObject): JsonObject {
  const current =
    config === undefined || config === null ? null : readObject(config, 'output_config')['format']
  const path = current === undefined || current === null ? 'output_format' : 'output_config.format'
  const given = current ?? former
  if (given === undefined || given === null) return {}
  const format = readObject(given, path)
  if (format['type'] !== 'json_schema') throw refuseType(format['type'], path)
  const schema = readSource(format['schema'], `${path}.schema`)
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } } }
}

function readStop(value: unknown, path: string): string {
  const stop = readText(value, path)
  if (stop === '') throw refuseField(path, 'must not be empty.')
  return stop
}

/** Translates what the prompt of a message consists of. */
export function toChatPrompt(request: JsonObject): JsonObject {
  const { model, system } = request
  const instructions = readInstructions(system)
  const messages = readList(request['messages'], 'messages').flatMap((message, index) =>
    toChatMessages(message, `messages.${index}`),
  )
  if (messages.length === 0) throw refuseField('messages', 'must have at least one message.')
  return {
    model,
    messages: [...(instructions === '' ? [] : [{ role: 'system', content: instructions }]), ...messages],
    ...toChatTools(request),
  }
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

function toChatMessages(message: unknown, path: string): JsonObject[] {
  const { role, content } = readObject(message, path)
  const at = `${path}.content`
  if (role === 'system') {
    return [{ role, content: typeof content === 'string' ? content : readTexts(content, at) }]
  }
  if (role !== 'user' && role !== 'assistant') {
    throw refuseField(`${path}.role`, 'must be `user`, `assistant` or `system`.')
  }
  if (typeof content === 'string') return [{ role, content }]
  if (content === undefined || content === null) throw refuseField(at, `must be ${textOrBlocks}.`)
  const blocks = readList(content, at, textOrBlocks).map((block, index) => ({
    block: readObject(block, `${at}.${index}`),
    at: `${at}.${index}`,
  }))
  return role === 'user' ? toUserMessages(blocks) : [toAssistantMessage(blocks)]
}

interface PlacedBlock {
  block: JsonObject
  at: string
}

/** A chat has the results of tools in separate messages, right after the calls. */
function toUserMessages(blocks: readonly PlacedBlock[]): JsonObject[] {
  const results = blocks.filter(({ block }) => block['type'] === 'tool_result').map(toToolMessage)
  const others = blocks.filter(({ block }) => block['type'] !== 'tool_result')
  // A result of a tool has only text in a chat.
  const parts = [...results.flatMap(({ images }) => images), ...others.map(toPart)]
  const messages = results.map(({ message }) => message)
  return parts.length === 0 && messages.length > 0 ? messages : [...messages, toUserMessage(parts)]
}

function toUserMessage(parts: readonly JsonObject[]): JsonObject {
  const isText = parts.every(({ type }) => type === 'text')
  return { role: 'user', content: isText ? parts.map(({ text }) => text).join('\n\n') : parts }
}

function toToolMessage({ block, at }: PlacedBlock): { message: JsonObject; images: JsonObject[] } {
  const { tool_use_id: id, content } = block
  const parts =
    content === undefined || content === null
      ? []
      : typeof content === 'string'
        ? [{ type: 'text', text: content }]
        : readList(content, `${at}.content`, textOrBlocks).map((part, index) =>
            toPart({ block: readObject(part, `${at}.content.${index}`), at: `${at}.content.${index}` }),
          )
  const texts = parts.filter(({ type }) => type === 'text')
  return {
    message: {
      role: 'tool',
      tool_call_id: readText(id, `${at}.tool_use_id`),
      content: texts.map(({ text }) => text).join('\n\n'),
    },
    images: parts.filter(({ type }) => type !== 'text'),
  }
}

function toPart({ block, at }: PlacedBlock): JsonObject {
  const { type, text } = block
  if (type === 'text') return { type, text: readText(text, `${at}.text`) }
  if (type === 'image') {
    return { type: 'image_url', image_url: { url: readImage(block['source'], `${at}.source`) } }
  }
  if (type === 'document') return { type: 'text', text: readDocument(block['source'], `${at}.source`) }
  throw refuseType(type, at)
}

function readImage(value: unknown, path: string): string {
  const source = readObject(value, path)
  if (source['type'] === 'url') return readText(source['url'], `${path}.url`)
  if (source['type'] !== 'base64') throw refuseType(source['type'], path)
  const type = readText(source['media_type'], `${path}.media_type`)
  return `data:${type};base64,${readText(source['data'], `${path}.data`)}`
}

function readDocument(value: unknown, path: string): string {
  const source = readObject(value, path)
  if (source['type'] === 'text') return readText(source['data'], `${path}.data`)
  if (source['type'] !== 'content') throw refuseType(source['type'], path)
  const { content } = source
  return typeof content === 'string' ? content : readTexts(content, `${path}.content`)
}

/** Thoughts stay out: chat templates leave those of earlier answers out, too. */
function toAssistantMessage(blocks: readonly PlacedBlock[]): JsonObject {
  const texts: string[] = []
  const calls: JsonObject[] = []
  for (const { block, at } of blocks) {
    const { type, text, id, name, input } = block
    if (type === 'text') texts.push(readText(text, `${at}.text`))
    else if (type === 'tool_use') {
      const called = {
        name: readText(name, `${at}.name`),
        arguments: sourceOf(readSource(input ?? {}, `${at}.input`)),
      }
      calls.push({ id: readText(id, `${at}.id`), type: 'function', function: called })
    } else if (type !== 'thinking' && type !== 'redacted_thinking') throw refuseType(type, at)
  }
  return {
    role: 'assistant',
    content: texts.join(''),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

/** True if the caller wants the thoughts of the model in the answer. */
export function wantsThoughts({ thinking }: JsonObject): boolean {
  if (thinking === undefined || thinking === null) return false
  const type = readOptionalText(readObject(thinking, 'thinking')['type'], 'thinking.type')
  return type !== 'disabled'
}
