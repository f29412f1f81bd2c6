import type { ReadBody } from '../body-edits.ts'
import { readList, readObject, readOptionalText, readSource, readText, refuseField } from '../fields.ts'
import type { CallerPaths, JsonObject } from '../protocol.ts'
import { findClientTool } from './client-tools.ts'

/** What a chat gets of the tools of a message. */
interface ChatTools {
  /** `tools`, `tool_choice` and `parallel_tool_calls` */
  members: JsonObject
  paths: CallerPaths
}

/** Translates a message's tools and their choice. Leaves out Anthropic's hosted tools, unless forced. */
export function toChatTools(request: JsonObject): ChatTools {
  const all = readList(request['tools'], 'tools').map((tool, index) => readTool(tool, `tools.${index}`))
  const tools = all.flatMap(({ chat }) => (chat === null ? [] : [chat]))
  const paths = new Map(
    all
      .flatMap(({ chat, path }) => (chat === null ? [] : [path]))
      .map((path, index) => [`tools.${index}`, path] as const),
  )
  const choice = readChoice(request['tool_choice'])
  const hosted = all.filter(({ chat }) => chat === null).map(({ name }) => name)
  const isForcedHosted = choice.name !== undefined && hosted.includes(choice.name)
  if (isForcedHosted || (choice.type === 'any' && tools.length === 0)) {
    throw refuseField(
      'tool_choice',
      'forces a tool that Berth does not run. Only your own tools can be called.',
    )
  }
  if (tools.length === 0) {
    if (choice.type === 'tool') throw refuseField('tool_choice', 'names a tool that is not in `tools`.')
    return { members: {}, paths }
  }
  const members = {
    tools,
    ...(choice.type === undefined ? {} : { tool_choice: toChatChoice(choice) }),
    ...(choice.isSingle ? { parallel_tool_calls: false } : {}),
  }
  return { members, paths }
}

/** The types of hosted tools have a date, such as `web_search_20250305`. */
const hostedType = /"type"\s*:\s*"(?:[a-z_]+_20\d{6}|mcp_toolset)"/

/** True for tools that only Anthropic's models know. Engines have no schema of them. */
export function hasHostedTools({ bytes, members }: ReadBody): boolean {
  const tools = members.findLast(({ name }) => name === 'tools')
  return tools !== undefined && hostedType.test(bytes.toString('latin1', tools.start, tools.end))
}

interface ReadTool {
  name: string
  path: string
  /** null for a tool that Anthropic's servers run */
  chat: JsonObject | null
}

function readTool(tool: unknown, path: string): ReadTool {
  const { type, name: given, description, input_schema: schema, strict } = readObject(tool, path)
  if (type === 'mcp_toolset') return { name: '', path, chat: null }
  const name = readText(given, `${path}.name`)
  if (type !== undefined && type !== null && type !== 'custom') {
    const known = findClientTool(type, `${path}.type`)
    return { name, path, chat: known === null ? null : { type: 'function', function: { name, ...known } } }
  }
  const text = readOptionalText(description, `${path}.description`)
  const called = {
    name,
    ...(text === undefined ? {} : { description: text }),
    parameters: readSource(schema, `${path}.input_schema`),
    ...(strict === true ? { strict } : {}),
  }
  return { name, path, chat: { type: 'function', function: called } }
}

interface ReadChoice {
  type: 'auto' | 'any' | 'none' | 'tool' | undefined
  /** With `tool` */
  name?: string
  /** At most one call */
  isSingle: boolean
}

function readChoice(value: unknown): ReadChoice {
  if (value === undefined || value === null) return { type: undefined, isSingle: false }
  const { type, name, disable_parallel_tool_use: single } = readObject(value, 'tool_choice')
  const isSingle = single === true
  if (type === 'tool') return { type, name: readText(name, 'tool_choice.name'), isSingle }
  if (type === 'auto' || type === 'any' || type === 'none') return { type, isSingle }
  throw refuseField('tool_choice.type', 'must be `auto`, `any`, `tool` or `none`.')
}

function toChatChoice({ type, name }: ReadChoice): unknown {
  if (type === 'tool') return { type: 'function', function: { name } }
  return type === 'any' ? 'required' : type
}
