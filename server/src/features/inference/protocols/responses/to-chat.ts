import { ChatHistory, toNote } from '../chat-history.ts'
import {
  engineFields,
  nameType,
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
import { sourceOf, writeJson } from '../json-source.ts'
import type { ChatRequest, DeploymentFacts, JsonObject } from '../protocol.ts'
import { inputMember, toChatName } from './tools-to-chat.ts'

/** The members that only the model and its engine read */
export const responseSources = [
  'parameters',
  'schema',
  'action',
  'operation',
  'temperature',
  'top_p',
  ...engineFields,
]

/** Translates a request to a chat completion's, without tools. Throws the caller's 400. */
export function toChat(request: JsonObject, facts: DeploymentFacts): ChatRequest {
  const { model, input, instructions, text, stream } = request
  const most = readOptionalCount(request['max_output_tokens'], 'max_output_tokens')
  const system = readOptionalText(instructions, 'instructions') ?? ''
  const history = new ChatHistory()
  if (system !== '') history.addSystem('instructions', system)
  if (typeof input === 'string') history.addUser('input', input)
  else addItems(history, input, facts)
  const { messages, paths } = history.finish()
  return {
    body: {
      model,
      messages,
      ...pickFields(request, ['temperature', 'top_p', ...engineFields]),
      ...(most === undefined ? {} : { max_tokens: most }),
      ...readFormat(text),
      ...(stream === true ? { stream, stream_options: { include_usage: true } } : {}),
    },
    paths: new Map([...paths, ['max_tokens', 'max_output_tokens'], ['response_format', 'text.format']]),
  }
}

/** An item of the input. */
interface Place {
  path: string
  /** True for the last one, which must be whole; in others, a sentence replaces what engines can't take. */
  isNew: boolean
  facts: DeploymentFacts
}

function addItems(history: ChatHistory, input: unknown, facts: DeploymentFacts): void {
  const items = readList(input, 'input', 'a text or a list of items').map((item, index) =>
    readObject(item, `input.${index}`),
  )
  if (items.length === 0) throw refuseField('input', 'must be a text or a list with at least one item.')
  for (const [index, item] of items.entries()) {
    const path = `input.${index}`
    addItem(history, resolveReference(item, items, path), { path, isNew: index === items.length - 1, facts })
  }
}

/** The item that a reference names, if the request has it. */
function resolveReference(item: JsonObject, items: readonly JsonObject[], path: string): JsonObject {
  if (item['type'] !== 'item_reference') return item
  const { id } = item
  const found = items.find((other) => other['type'] !== 'item_reference' && other['id'] === id)
  if (found !== undefined) return found
  throw refuseField(
    `${path}.type`,
    'is "item_reference", an item of a stored response, and Berth stores none. Send the item itself: clients do so with `store: false`.',
  )
}

/** Calls, each with its member for the arguments. A function gets a tool's own calls by the tool's name. */
const callTypes: Readonly<Record<string, { member: string; name?: string }>> = {
  function_call: { member: 'arguments' },
  custom_tool_call: { member: 'input' },
  local_shell_call: { member: 'action', name: 'local_shell' },
  shell_call: { member: 'action', name: 'shell' },
  apply_patch_call: { member: 'operation', name: 'apply_patch' },
}

const outputTypes: ReadonlySet<unknown> = new Set(Object.keys(callTypes).map((type) => `${type}_output`))

function addItem(history: ChatHistory, item: JsonObject, place: Place): void {
  const { path, isNew } = place
  const { type } = item
  if (type === undefined || type === null || type === 'message') addMessage(history, item, place)
  else if (typeof type === 'string' && Object.hasOwn(callTypes, type)) {
    history.addAnswer(path, { calls: [{ call: toCall(item, callTypes[type]!, path), path }] })
  } else if (outputTypes.has(type)) addOutput(history, item, place)
  else if (type === 'reasoning') history.addAnswer(path, { thought: readThought(item, path) })
  else if (isNew) throw refuseType(type, path)
  else history.addAnswer(path, { text: String(toNote(nameType(type))['text']) })
}

function toCall(item: JsonObject, { member, name: own }: { member: string; name?: string }, path: string) {
  const given = item[member]
  const at = `${path}.${member}`
  const called = {
    name: own ?? readText(item['name'], `${path}.name`),
    namespace: own === undefined ? (readOptionalText(item['namespace'], `${path}.namespace`) ?? null) : null,
  }
  const json =
    member === 'arguments'
      ? readText(given, at)
      : member === 'input'
        ? writeJson({ [inputMember]: readText(given, at) })
        : sourceOf(readSource(given, at))
  const id = readText(item['call_id'] ?? item['id'], `${path}.call_id`)
  return { id, type: 'function', function: { name: toChatName(called), arguments: json } }
}

/** The thoughts themselves, or else their summary. Others can't read encrypted ones. */
function readThought({ content, summary }: JsonObject, path: string): string {
  const join = (parts: unknown, at: string) =>
    readList(parts, at)
      .map((part, index) => readText(readObject(part, `${at}.${index}`)['text'], `${at}.${index}.text`))
      .join('\n\n')
  return join(content, `${path}.content`) || join(summary, `${path}.summary`)
}

function addOutput(history: ChatHistory, { id, call_id: callId, output }: JsonObject, place: Place): void {
  const at = `${place.path}.output`
  const parts =
    typeof output === 'string'
      ? [{ type: 'text', text: output }]
      : readList(output, at, textOrParts).map((part, index) => toOutputPart(part, `${at}.${index}`, place))
  history.addResult(place.path, readText(callId ?? id, `${place.path}.call_id`), parts)
}

/** A program made the output, so a picture or file that the model can't read is no reason for a 400. */
function toOutputPart(value: unknown, at: string, place: Place): JsonObject {
  const part = readObject(value, at)
  const { type } = part
  // What a shell wrote, in its own parts
  if (type === undefined) return { type: 'text', text: writeJson(part) }
  const isFile = type === 'input_image' || type === 'input_file'
  return toPart(part, at, isFile ? { ...place, isNew: false } : place)
}

const textOrParts = 'a text or a list of parts'
const textTypes: readonly unknown[] = ['input_text', 'output_text', 'text', 'summary_text']
const roles: readonly unknown[] = ['user', 'assistant', 'system', 'developer']

function addMessage(history: ChatHistory, { role, content }: JsonObject, place: Place): void {
  const { path } = place
  if (!roles.includes(role)) {
    throw refuseField(`${path}.role`, 'must be `user`, `assistant`, `system` or `developer`.')
  }
  const parts: readonly JsonObject[] =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : readList(content, `${path}.content`, textOrParts).map((part, index) =>
          toPart(readObject(part, `${path}.content.${index}`), `${path}.content.${index}`, place),
        )
  const isText = parts.every(({ type }) => type === 'text')
  const text = parts.map((part) => part['text'] ?? toNote('an image')['text']).join('')
  if (role === 'assistant') history.addAnswer(path, { text })
  else if (role === 'user') history.addUser(path, isText ? text : parts)
  // Not all engines know the role `developer`.
  else history.addSystem(path, isText ? text : parts)
}

function toPart(part: JsonObject, at: string, { isNew, facts }: Place): JsonObject {
  const { type } = part
  if (textTypes.includes(type)) return { type: 'text', text: readText(part['text'], `${at}.text`) }
  if (type === 'refusal') return { type: 'text', text: readText(part['refusal'], `${at}.refusal`) }
  if (type === 'input_image' && facts.seesImages && (isNew || typeof part['image_url'] === 'string')) {
    const url = readText(part['image_url'], `${at}.image_url`)
    return { type: 'image_url', image_url: { url, ...pickFields(part, ['detail']) } }
  }
  if (!isNew) {
    return toNote(type === 'input_image' ? 'an image' : type === 'input_file' ? 'a file' : nameType(type))
  }
  if (type === 'input_image') throw refuseField(at, 'is an image, and this model reads only text.')
  throw refuseType(type, at)
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
