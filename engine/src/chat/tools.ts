import { invalid } from '../base/errors.ts'
import type { Schema } from '@berth/grammar/schema/json-schema.ts'
import { constraintsOf } from '@berth/grammar/schema/keywords.ts'
import type { ChatRequest } from './chat-request.ts'

const maxParallelCalls = 16

/** A tool that the answer may call. */
export interface SelectedTool {
  name: string
  parameters: Schema
  strict: boolean
  /** The path of the parameters in the body */
  param: string
}

/** The tools of a request. */
export interface SelectedTools {
  callable: readonly SelectedTool[]
  /** True when the answer must be a tool call */
  mustCall: boolean
  /** Maximum calls per answer */
  maxCalls: number
}

/** Selects the tools that the answer may call, if any. Throws a RequestError for bad combinations. */
export function selectTools(request: ChatRequest, supported: boolean): SelectedTools | null {
  const tools = request.tools ?? []
  const { mode, only } = readChoice(request.tool_choice ?? 'auto')
  if (mode === 'none') return null
  if (tools.length === 0) {
    if (mode !== 'auto' || only !== null) throw invalid('tool_choice', 'tool_choice requires tools.')
    return null
  }
  if (!supported)
    throw invalid('tools', "This model's chat template does not support tools.", 'tools_not_supported')
  const names = tools.map((tool) => tool.function.name)
  if (new Set(names).size !== names.length) throw invalid('tools', 'Tool names must be unique.')
  if (only !== null && !only.every((name) => names.includes(name))) {
    throw invalid('tool_choice', 'tool_choice names a function that is not in tools.')
  }

  const callable = tools.flatMap(({ function: tool }, index) => {
    const param = `tools.${index}.function.parameters`
    const given = tool.parameters ?? {}
    if ((given['type'] ?? 'object') !== 'object')
      throw invalid(param, `${param}: must have the type "object".`)
    if (only !== null && !only.includes(tool.name)) return []
    const parameters = { type: 'object', properties: {}, ...given }
    return [{ name: tool.name, parameters, strict: tool.strict === true, param }]
  })
  // A forced call can be followed by more, so several must be requested explicitly.
  const several = request.parallel_tool_calls ?? mode === 'auto'
  return {
    callable,
    mustCall: mode === 'required',
    maxCalls: several && only?.length !== 1 ? maxParallelCalls : 1,
  }
}

/** How `tool_choice` restricts the calls: `only` lists the callable functions; null for all. */
function readChoice(choice: NonNullable<ChatRequest['tool_choice']>) {
  if (typeof choice === 'string') return { mode: choice, only: null }
  if (choice.type === 'function') return { mode: 'required' as const, only: [choice.function.name] }
  const { mode, tools } = choice.allowed_tools
  return { mode, only: tools.map((tool) => tool.function.name) }
}

/** True when the only call has no arguments. */
export function takesNothing(schema: Schema): boolean {
  const { properties, additionalProperties = false, ...rest } = constraintsOf(schema)
  const others = Object.keys(rest).filter((keyword) => keyword !== 'type' && keyword !== 'required')
  return isEmpty(properties) && additionalProperties === false && others.length === 0
}

function isEmpty(properties: unknown): boolean {
  return Object.keys(properties ?? {}).length === 0
}
