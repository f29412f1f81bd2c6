import type { ChatModelFunctions, ChatWrapper, GbnfJsonSchema } from 'node-llama-cpp'
import { invalid } from '../base/errors.ts'
import type { Grammar } from '../grammar/grammar.ts'
import type { Schema } from '../grammar/schema/json-schema.ts'
import { constraintsOf } from '../grammar/schema/keywords.ts'
import type { AnswerPiece } from './answer.ts'
import type { ChatRequest } from './chat-request.ts'
import { createToolGrammars } from './tool-grammars.ts'

const maxParallelCalls = 16

/** The tools of a request. */
export interface SelectedTools {
  /** Callable functions, with parameters converted for the grammar */
  callable: ChatModelFunctions
  /** All functions with their original parameters, for the prompt */
  described: ChatModelFunctions
  /** True when the answer must be a tool call */
  mustCall: boolean
  /** Maximum calls per answer */
  maxCalls: number
}

/**
 * Selects the tools that the answer may call, or null. Throws a RequestError for an unsupported combination.
 */
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

  const toToolGrammar = createToolGrammars()
  const callable: [string, ChatModelFunctions[string]][] = []
  const described: [string, ChatModelFunctions[string]][] = []
  for (const [index, { function: tool }] of tools.entries()) {
    const description = tool.description == null ? {} : { description: tool.description }
    const param = `tools.${index}.function.parameters`
    const given = tool.parameters ?? {}
    if ((given['type'] ?? 'object') !== 'object')
      throw invalid(param, `${param}: must have the type "object".`)
    const grammar = toToolGrammar({ type: 'object', properties: {}, ...given }, param, tool.strict === true)
    const params = takesNothing(given) ? {} : { params: toParams(grammar) }
    described.push([
      tool.name,
      { ...description, ...(tool.parameters == null ? {} : { params: given as never }) },
    ])
    if (only === null || only.includes(tool.name)) callable.push([tool.name, { ...description, ...params }])
  }
  // After a forced call node-llama-cpp forces the next one too, so parallel calls must be requested
  // explicitly.
  const several = request.parallel_tool_calls ?? mode === 'auto'
  return {
    callable: Object.fromEntries(callable),
    described: Object.fromEntries(described),
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
function takesNothing(schema: Schema): boolean {
  const { properties, additionalProperties = false, ...rest } = constraintsOf(schema)
  const others = Object.keys(rest).filter((keyword) => keyword !== 'type' && keyword !== 'required')
  return isEmpty(properties) && additionalProperties === false && others.length === 0
}

function isEmpty(properties: unknown): boolean {
  return Object.keys(properties ?? {}).length === 0
}

/**
 * Returns a schema from which node-llama-cpp builds exactly this grammar. The library maps the alternatives
 * of `oneOf` to terminals, so this list maps to a terminal of its own. Its only item is a reference that
 * leads nowhere, which accepts every finished call.
 */
function toParams({ rules, start }: Grammar): GbnfJsonSchema {
  const terminal = {
    resolve: (generator: { rules: Map<string, string> }): string => {
      for (const [name, text] of rules) generator.rules.set(name, text)
      return start
    },
  }
  return { oneOf: Object.assign([{ $ref: '#' }], { map: () => [terminal] }) } as unknown as GbnfJsonSchema
}

/**
 * Adapts the chat wrapper to the request's tools: the template renders the original definitions, and a
 * required call starts immediately.
 */
export function adaptWrapper(wrapper: ChatWrapper, tools: SelectedTools): ChatWrapper {
  const generateContextState: ChatWrapper['generateContextState'] = (options) => {
    const state = wrapper.generateContextState({ ...options, availableFunctions: tools.described })
    if (!tools.mustCall) return state
    const { contextText, stopGenerationTriggers } = state
    const functionCall = { initiallyEngaged: true, disengageInitiallyEngaged: [] }
    return { contextText, stopGenerationTriggers, functionCall }
  }
  return Object.create(wrapper, { generateContextState: { value: generateContextState } }) as ChatWrapper
}

/** Reports tool calls during generation: first the name, then the arguments without trailing line feeds. */
export function createCallReporter(onPiece: (piece: AnswerPiece) => void) {
  const reported = new Set<number>()
  let finished = 0
  let blank = ''
  const begin = (index: number, name: string): void => {
    if (reported.has(index)) return
    reported.add(index)
    blank = ''
    onPiece({ type: 'tool_call', index, name })
  }
  return {
    onChunk: (chunk: { callIndex: number; functionName: string; paramsChunk: string }): void => {
      begin(chunk.callIndex, chunk.functionName)
      const all = blank + chunk.paramsChunk
      const text = all.trimEnd()
      blank = all.slice(text.length)
      if (text !== '') onPiece({ type: 'tool_arguments', index: chunk.callIndex, text })
    },
    onCall: (call: { functionName: string }): void => {
      const index = finished++
      if (reported.has(index)) return
      begin(index, call.functionName)
      onPiece({ type: 'tool_arguments', index, text: '{}' })
    },
  }
}
