import type { ChatModelFunctions, ChatWrapper, GbnfJsonSchema } from 'node-llama-cpp'
import type { ChatRequest } from './chat-request.ts'
import { invalid } from './errors.ts'
import type { AnswerPiece } from './answer.ts'
import { toGrammarSchema } from './json-schema.ts'

const MAX_PARALLEL_CALLS = 16

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

/** Selects the tools that the answer may call, or null. Throws a RequestError for an unsupported combination. */
export function selectTools(request: ChatRequest, supported: boolean): SelectedTools | null {
  const tools = request.tools ?? []
  const choice = request.tool_choice ?? 'auto'
  if (choice === 'none') return null
  if (tools.length === 0) {
    if (choice !== 'auto') throw invalid('tool_choice', 'tool_choice requires tools.')
    return null
  }
  if (!supported)
    throw invalid('tools', "This model's chat template does not support tools.", 'tools_not_supported')
  const names = tools.map((tool) => tool.function.name)
  if (new Set(names).size !== names.length) throw invalid('tools', 'Tool names must be unique.')
  const only = typeof choice === 'object' ? choice.function.name : null
  if (only !== null && !names.includes(only)) {
    throw invalid('tool_choice', 'tool_choice names a function that is not in tools.')
  }

  const callable: [string, ChatModelFunctions[string]][] = []
  const described: [string, ChatModelFunctions[string]][] = []
  for (const [index, { function: tool }] of tools.entries()) {
    const description = tool.description == null ? {} : { description: tool.description }
    const param = `tools.${index}.function.parameters`
    const given = tool.parameters ?? {}
    const schema = toGrammarSchema({ type: 'object', properties: {}, ...given }, { param, lenient: true })
    const params = takesNothing(schema) ? {} : { params: schema }
    described.push([
      tool.name,
      { ...description, ...(tool.parameters == null ? {} : { params: given as never }) },
    ])
    if (only === null || only === tool.name) callable.push([tool.name, { ...description, ...params }])
  }
  // After a forced call node-llama-cpp forces the next one too, so parallel calls must be requested explicitly.
  const several = request.parallel_tool_calls ?? choice === 'auto'
  return {
    callable: Object.fromEntries(callable),
    described: Object.fromEntries(described),
    mustCall: choice !== 'auto',
    maxCalls: several && only === null ? MAX_PARALLEL_CALLS : 1,
  }
}

function takesNothing(schema: GbnfJsonSchema): boolean {
  if (!('properties' in schema) || schema.additionalProperties !== false) return false
  return Object.keys(schema.properties ?? {}).length === 0
}

/**
 * Adapts the chat wrapper to the request's tools: the template renders the original definitions, and a required call starts
 * immediately.
 */
export function adaptWrapper(wrapper: ChatWrapper, tools: SelectedTools): ChatWrapper {
  const readsJsonSchema = wrapper.wrapperName === 'JinjaTemplate'
  const generateContextState: ChatWrapper['generateContextState'] = (options) => {
    const availableFunctions = readsJsonSchema ? tools.described : tools.callable
    const state = wrapper.generateContextState({ ...options, availableFunctions })
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
  let written = ''
  const begin = (index: number, name: string): void => {
    if (reported.has(index)) return
    reported.add(index)
    blank = ''
    written = ''
    onPiece({ type: 'tool_call', index, name })
  }
  return {
    /** True when the arguments of the last call are complete JSON. */
    isComplete: (): boolean => {
      try {
        JSON.parse(written)
        return true
      } catch {
        return false
      }
    },
    onChunk: (chunk: { callIndex: number; functionName: string; paramsChunk: string }): void => {
      begin(chunk.callIndex, chunk.functionName)
      const all = blank + chunk.paramsChunk
      const text = all.trimEnd()
      blank = all.slice(text.length)
      written += text
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
