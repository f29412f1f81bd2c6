import { createHash } from 'node:crypto'
import { readList, readObject, readOptionalText, readSource, readText, refuseField } from '../fields.ts'
import type { CallerPaths, JsonObject } from '../protocol.ts'

/** A function as the caller knows it. */
export interface CalledFunction {
  name: string
  /** null outside of namespaces */
  namespace: string | null
  /** True for a custom tool, whose input is a text */
  isCustom?: boolean
}

/** The parameter of the function that stands for a custom tool */
export const inputMember = 'input'

/** What a chat gets of the tools of a response. */
export interface ChatTools {
  /** `tools`, `tool_choice` and `parallel_tool_calls` */
  members: JsonObject
  /** The functions in namespaces and custom tools, by their names in the chat */
  functions: ReadonlyMap<string, CalledFunction>
  paths: CallerPaths
}

/** Names in a chat have at most 64 letters, digits, `_` and `-`. */
const maxName = 64

/** The name of a function in a chat, which knows no namespaces. The same in each request. */
export function toChatName({ name, namespace }: Pick<CalledFunction, 'name' | 'namespace'>): string {
  if (namespace === null) return name
  const joined = `${namespace}__${name}`.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
  if (joined.length <= maxName && joined === `${namespace}__${name}`) return joined
  const digest = createHash('sha256').update(`${namespace} ${name}`).digest('hex').slice(0, 8)
  return `${joined.slice(0, maxName - 9)}_${digest}`
}

/** Translates tools and their choice. Leaves out tools that OpenAI's servers run, unless forced. */
export function toChatTools(request: JsonObject): ChatTools {
  const functions = new Map<string, CalledFunction>()
  const read = readList(request['tools'], 'tools').flatMap((tool, index) =>
    readTool(tool, `tools.${index}`, null, functions),
  )
  const tools = read.map(({ tool }) => tool)
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
  const paths = new Map(read.map(({ path }, index) => [`tools.${index}`, path] as const))
  return { members, functions, paths }
}

interface ReadTool {
  tool: JsonObject
  path: string
}

/** Tools that the caller's program runs and that only OpenAI's models know */
const clientTypes: readonly unknown[] = [
  'apply_patch',
  'computer',
  'computer_use_preview',
  'local_shell',
  'shell',
]

function readTool(
  value: unknown,
  path: string,
  namespace: string | null,
  functions: Map<string, CalledFunction>,
): ReadTool[] {
  const tool = readObject(value, path)
  const { type } = tool
  if (type === 'namespace' && namespace === null) {
    const name = readText(tool['name'], `${path}.name`)
    return readList(tool['tools'], `${path}.tools`).flatMap((inner, index) =>
      readTool(inner, `${path}.tools.${index}`, name, functions),
    )
  }
  if (clientTypes.includes(type)) {
    throw refuseField(
      `${path}.type`,
      `is "${String(type)}", of which Berth has no schema. Send it as a function.`,
    )
  }
  const isCustom = type === 'custom'
  if (type !== 'function' && !isCustom) return []
  const called = { name: readText(tool['name'], `${path}.name`), namespace, isCustom }
  const name = toChatName(called)
  if (namespace !== null || isCustom) functions.set(name, called)
  const described = isCustom ? describeCustom(tool, path) : describeFunction(tool, path)
  return [{ tool: { type: 'function', function: { name, ...described } }, path }]
}

function describeFunction(tool: JsonObject, path: string): JsonObject {
  const description = readOptionalText(tool['description'], `${path}.description`)
  const { parameters, strict } = tool
  return {
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined || parameters === null
      ? {}
      : { parameters: readSource(parameters, `${path}.parameters`) }),
    ...(strict === true ? { strict } : {}),
  }
}

/** A custom tool takes one text, perhaps with a grammar. Engines can't enforce that in a call. */
function describeCustom({ description, format }: JsonObject, path: string): JsonObject {
  const given = readOptionalText(description, `${path}.description`)
  const grammar = format === undefined || format === null ? '' : describeGrammar(format, `${path}.format`)
  return {
    ...(given === undefined ? {} : { description: given }),
    parameters: {
      type: 'object',
      properties: { [inputMember]: { type: 'string', description: `The input as a text.${grammar}` } },
      required: [inputMember],
      additionalProperties: false,
    },
  }
}

function describeGrammar(value: unknown, path: string): string {
  const { type, syntax, definition } = readObject(value, path)
  if (type !== 'grammar') return ''
  const language = readText(syntax, `${path}.syntax`)
  return ` It follows this grammar (${language}):\n${readText(definition, `${path}.definition`)}`
}

/** The input of a call of a custom tool. A model can write anything, which then is the input. */
export function readCustomInput(given: string): string {
  try {
    const input: unknown = (JSON.parse(given) as Record<string, unknown> | null)?.[inputMember]
    return typeof input === 'string' ? input : given
  } catch {
    return given
  }
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
  if (namesFunction(choice)) {
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
    return namesFunction(allowed) ? [toNamed(allowed, path)] : []
  })
  if (tools.length === 0) throw refuseField('tool_choice.tools', 'must have a function.')
  return { type: 'allowed_tools', allowed_tools: { mode: choice['mode'] ?? 'auto', tools } }
}

function namesFunction({ type }: JsonObject): boolean {
  return type === 'function' || type === 'custom'
}

function toNamed({ name, namespace }: JsonObject, path: string): JsonObject {
  const called = {
    name: readText(name, `${path}.name`),
    namespace: readOptionalText(namespace, `${path}.namespace`) ?? null,
  }
  return { type: 'function', function: { name: toChatName(called) } }
}
