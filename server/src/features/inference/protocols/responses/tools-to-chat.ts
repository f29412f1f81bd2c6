import { createHash } from 'node:crypto'
import { readList, readObject, readOptionalText, readSource, readText, refuseField } from '../fields.ts'
import type { JsonObject } from '../protocol.ts'

/** A function as the caller knows it. */
export interface CalledFunction {
  name: string
  /** null outside of namespaces */
  namespace: string | null
}

/** What a chat gets of the tools of a response. */
export interface ChatTools {
  /** `tools`, `tool_choice` and `parallel_tool_calls` */
  members: JsonObject
  /** The functions in namespaces, by their names in the chat */
  functions: ReadonlyMap<string, CalledFunction>
}

/** Names in a chat have at most 64 letters, digits, `_` and `-`. */
const maxName = 64

/** The name of a function in a chat, which knows no namespaces. The same in each request. */
export function toChatName({ name, namespace }: CalledFunction): string {
  if (namespace === null) return name
  const joined = `${namespace}__${name}`.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
  if (joined.length <= maxName && joined === `${namespace}__${name}`) return joined
  const digest = createHash('sha256').update(`${namespace} ${name}`).digest('hex').slice(0, 8)
  return `${joined.slice(0, maxName - 9)}_${digest}`
}

/** Translates tools and their choice. Leaves out OpenAI's hosted tools and non-functions, unless forced. */
export function toChatTools(request: JsonObject): ChatTools {
  const functions = new Map<string, CalledFunction>()
  const tools = readList(request['tools'], 'tools').flatMap((tool, index) =>
    readTool(tool, `tools.${index}`, null, functions),
  )
  const choice = readChoice(request['tool_choice'], tools.length > 0)
  const { parallel_tool_calls: parallel } = request
  const members =
    tools.length === 0
      ? {}
      : {
          tools,
          ...(choice === undefined ? {} : { tool_choice: choice }),
          ...(typeof parallel === 'boolean' ? { parallel_tool_calls: parallel } : {}),
        }
  return { members, functions }
}

function readTool(
  value: unknown,
  path: string,
  namespace: string | null,
  functions: Map<string, CalledFunction>,
): JsonObject[] {
  const tool = readObject(value, path)
  const { type } = tool
  if (type === 'namespace' && namespace === null) {
    const name = readText(tool['name'], `${path}.name`)
    return readList(tool['tools'], `${path}.tools`).flatMap((inner, index) =>
      readTool(inner, `${path}.tools.${index}`, name, functions),
    )
  }
  if (type !== 'function') return []
  const called = { name: readText(tool['name'], `${path}.name`), namespace }
  const name = toChatName(called)
  if (namespace !== null) functions.set(name, called)
  const description = readOptionalText(tool['description'], `${path}.description`)
  const { parameters, strict } = tool
  return [
    {
      type,
      function: {
        name,
        ...(description === undefined ? {} : { description }),
        ...(parameters === undefined || parameters === null
          ? {}
          : { parameters: readSource(parameters, `${path}.parameters`) }),
        ...(strict === true ? { strict } : {}),
      },
    },
  ]
}

function readChoice(value: unknown, hasTools: boolean): unknown {
  if (value === undefined || value === null) return undefined
  if (value === 'auto' || value === 'none') return value
  if (value === 'required') {
    if (hasTools) return value
    throw refuseField('tool_choice', 'requires a function in `tools`.')
  }
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw refuseField('tool_choice', 'must be `auto`, `none`, `required`, a function or `allowed_tools`.')
  }
  const choice = value as JsonObject
  if (choice['type'] === 'function') {
    if (hasTools) return toNamed(choice, 'tool_choice')
    throw refuseField('tool_choice', 'names a function that is not in `tools`.')
  }
  if (choice['type'] !== 'allowed_tools') {
    throw refuseField(
      'tool_choice',
      'forces a tool that Berth does not run. Only your own functions can be called.',
    )
  }
  const tools = readList(choice['tools'], 'tool_choice.tools').flatMap((tool, index) => {
    const path = `tool_choice.tools.${index}`
    const allowed = readObject(tool, path)
    return allowed['type'] === 'function' ? [toNamed(allowed, path)] : []
  })
  if (tools.length === 0) throw refuseField('tool_choice.tools', 'must have a function.')
  return { type: 'allowed_tools', allowed_tools: { mode: choice['mode'] ?? 'auto', tools } }
}

function toNamed({ name, namespace }: JsonObject, path: string): JsonObject {
  const called = {
    name: readText(name, `${path}.name`),
    namespace: readOptionalText(namespace, `${path}.namespace`) ?? null,
  }
  return { type: 'function', function: { name: toChatName(called) } }
}
