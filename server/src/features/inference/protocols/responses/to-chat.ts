import {
  engineFields,
  pickFields,
  readList,
  readObject,
  readOptionalCount,
  readOptionalText,
  readSource,
  readText,
  refuseField,
  refuseType,
} from '../fields.ts'
import type { JsonObject } from '../protocol.ts'
import { toChatName } from './tools-to-chat.ts'

/** The members that only the model and its engine read */
export const responseSources = ['parameters', 'schema', 'temperature', 'top_p', ...engineFields]

/** Translates a request to a chat completion's, without tools. Throws the caller's 400. */
export function toChat(request: JsonObject): JsonObject {
  const { model, input, instructions, text, stream } = request
  const most = readOptionalCount(request['max_output_tokens'], 'max_output_tokens')
  const system = readOptionalText(instructions, 'instructions') ?? ''
  const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : readInput(input)
  if (messages.length === 0) throw refuseField('input', 'must be a text or a list with at least one item.')
  return {
    model,
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...messages],
    ...pickFields(request, ['temperature', 'top_p', ...engineFields]),
    ...(most === undefined ? {} : { max_tokens: most }),
    ...readFormat(text),
    ...(stream === true ? { stream, stream_options: { include_usage: true } } : {}),
  }
}

/** Calls that follow each other belong to one message of a chat. */
function readInput(input: unknown): JsonObject[] {
  const messages: JsonObject[] = []
  for (const [index, value] of readList(input, 'input', 'a text or a list of items').entries()) {
    const path = `input.${index}`
    const item = readObject(value, path)
    const { type } = item
    if (type === 'function_call') addCall(messages, toCall(item, path))
    else if (type === 'function_call_output') messages.push(toToolMessage(item, path))
    else if (type === undefined || type === 'message') messages.push(toMessage(item, path))
    // Chat templates leave thoughts of earlier answers out.
    else if (type !== 'reasoning') throw refuseType(type, path)
  }
  return messages
}

function addCall(messages: JsonObject[], call: JsonObject): void {
  const last = messages.at(-1)
  if (last?.['role'] === 'assistant') {
    const calls = (last['tool_calls'] ?? []) as readonly JsonObject[]
    messages[messages.length - 1] = { ...last, tool_calls: [...calls, call] }
  } else messages.push({ role: 'assistant', content: '', tool_calls: [call] })
}

function toCall({ call_id: id, name, namespace, arguments: given }: JsonObject, path: string): JsonObject {
  const called = {
    name: readText(name, `${path}.name`),
    namespace: readOptionalText(namespace, `${path}.namespace`) ?? null,
  }
  return {
    id: readText(id, `${path}.call_id`),
    type: 'function',
    function: { name: toChatName(called), arguments: readText(given, `${path}.arguments`) },
  }
}

function toToolMessage({ call_id: id, output }: JsonObject, path: string): JsonObject {
  const at = `${path}.output`
  const content =
    typeof output === 'string'
      ? output
      : readList(output, at, textOrParts)
          .map((part, index) => readTextPart(part, `${at}.${index}`))
          .join('\n\n')
  return { role: 'tool', tool_call_id: readText(id, `${path}.call_id`), content }
}

const textOrParts = 'a text or a list of parts'
const textTypes: readonly unknown[] = ['input_text', 'output_text', 'text', 'summary_text']

function readTextPart(value: unknown, path: string): string {
  const part = readObject(value, path)
  if (!textTypes.includes(part['type'])) throw refuseType(part['type'], path)
  return readText(part['text'], `${path}.text`)
}

const roles: readonly unknown[] = ['user', 'assistant', 'system', 'developer']

function toMessage({ role, content }: JsonObject, path: string): JsonObject {
  if (!roles.includes(role)) {
    throw refuseField(`${path}.role`, 'must be `user`, `assistant`, `system` or `developer`.')
  }
  // Not all engines know the role `developer`.
  const chatRole = role === 'developer' ? 'system' : role
  if (typeof content === 'string') return { role: chatRole, content }
  const parts = readList(content, `${path}.content`, textOrParts).map((part, index) =>
    toPart(part, `${path}.content.${index}`),
  )
  const isText = parts.every(({ type }) => type === 'text')
  return { role: chatRole, content: isText ? parts.map(({ text }) => text).join('') : parts }
}

function toPart(value: unknown, path: string): JsonObject {
  const part = readObject(value, path)
  const { type } = part
  if (type === 'refusal') return { type: 'text', text: readText(part['refusal'], `${path}.refusal`) }
  if (type === 'input_image') {
    const url = readText(part['image_url'], `${path}.image_url`)
    return { type: 'image_url', image_url: { url, ...pickFields(part, ['detail']) } }
  }
  return { type: 'text', text: readTextPart(value, path) }
}

function readFormat(text: unknown): JsonObject {
  if (text === undefined || text === null) return {}
  const { format: given } = readObject(text, 'text')
  if (given === undefined || given === null) return {}
  const format = readObject(given, 'text.format')
  if (format['type'] === 'text') return {}
  if (format['type'] === 'json_object') return { response_format: { type: 'json_object' } }
  if (format['type'] !== 'json_schema') throw refuseType(format['type'], 'text.format')
  const schema = {
    name: readText(format['name'], 'text.format.name'),
    schema: readSource(format['schema'], 'text.format.schema'),
    ...(format['strict'] === true ? { strict: true } : {}),
  }
  return { response_format: { type: 'json_schema', json_schema: schema } }
}
