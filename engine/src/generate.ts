import { randomInt } from 'node:crypto'
import {
  LlamaChat,
  type ChatHistoryItem,
  type ChatModelFunctions,
  type ChatWrapper,
  type LlamaGrammar,
  type Token,
} from 'node-llama-cpp'
import type { ChatRequest } from './chat-request.ts'
import { invalid } from './errors.ts'
import { toHistory } from './history.ts'
import { ANY_OBJECT, narrowNumbers, toGrammarSchema } from './json-schema.ts'
import type { Engine } from './model.ts'
import type { Slot } from './sequences.ts'
import { createStopFilter } from './stop-filter.ts'
import { adaptWrapper, createCallReporter, selectTools, type SelectedTools } from './tools.ts'

/** Prompt tokens evaluated in one go; between two goes a caller's leaving is noticed. */
const PREFILL_TOKENS = 512
/** More than any tokenizer packs into its tokens on average. */
export const MAX_CHARACTERS_PER_TOKEN = 128
const PENALTY_TOKENS = 1024

/** What llama.cpp's own server takes where a request says nothing. */
const DEFAULTS = { temperature: 0.8, topP: 0.95, topK: 40, minP: 0.05 } as const

/** A piece of an answer as it is written. */
export type AnswerPiece =
  | { type: 'content'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'tool_call'; index: number; name: string }
  | { type: 'tool_arguments'; index: number; text: string }

/** How an answer ended, and its tokens. */
export interface AnswerEnd {
  finishReason: 'stop' | 'length' | 'tool_calls'
  promptTokens: number
  completionTokens: number
  /** The part of the prompt that was still in the sequence from an earlier request. */
  cachedTokens: number
}

/** A request that was found to be answerable. */
export interface PreparedChat {
  request: ChatRequest
  history: ChatHistoryItem[]
  wrapper: ChatWrapper
  tools: SelectedTools | null
  grammar: LlamaGrammar | undefined
  prompt: Token[]
  maxTokens: number
}

/** Checks all that can be checked before a sequence is needed; throws a RequestError. */
export async function prepareChat(engine: Engine, request: ChatRequest): Promise<PreparedChat> {
  const { chat } = engine
  if (chat === null) throw invalid('model', 'This is an embedding model; it can only be used for embeddings.')
  const history = toHistory(request.messages)
  checkLength(request, chat.contextSize)
  const tools = selectTools(request, chat.canCallTools)
  const format = request.response_format?.type ?? 'text'
  if (tools !== null && format !== 'text') {
    throw invalid('response_format', "response_format can't be combined with tools; set tool_choice to none.")
  }
  const grammar = await createGrammar(engine, request)
  const wrapper = tools === null ? chat.wrapper : adaptWrapper(chat.wrapper, tools)
  const prompt = renderPrompt(engine, wrapper, history, tools?.callable)

  // The library needs one token of the context for itself.
  const room = chat.contextSize - 1 - prompt.length
  if (room < 1) {
    throw invalid(
      'messages',
      `The model's context holds ${chat.contextSize} tokens and the prompt alone has ${prompt.length}.`,
      'context_length_exceeded',
    )
  }
  const wanted = request.max_completion_tokens ?? request.max_tokens ?? room
  return {
    request,
    history,
    wrapper,
    tools,
    grammar,
    prompt,
    maxTokens: Math.min(wanted, room),
  }
}

/**
 * Writes the answer on the given slot, whose sequence was brought to the prompt by `prefill`, piece by piece. Rejects with the
 * signal's reason once it is aborted.
 */
export async function writeAnswer(
  prepared: PreparedChat,
  slot: Slot,
  {
    cachedTokens,
    signal,
    onPiece,
  }: { cachedTokens: number; signal: AbortSignal; onPiece: (piece: AnswerPiece) => void },
): Promise<AnswerEnd> {
  const { request, prompt, grammar, tools } = prepared
  const { sequence } = slot
  const stops = createStopFilter([request.stop ?? []].flat())
  const stopping = new AbortController()
  const calls = createCallReporter(onPiece)
  const before = sequence.tokenMeter.usedOutputTokens
  const end = (finishReason: AnswerEnd['finishReason']): AnswerEnd => {
    const rest = stops.flush()
    if (rest !== '') onPiece({ type: 'content', text: rest })
    const completionTokens = sequence.tokenMeter.usedOutputTokens - before
    return { finishReason, promptTokens: prompt.length, completionTokens, cachedTokens }
  }

  const chat = new LlamaChat({ contextSequence: sequence, chatWrapper: prepared.wrapper })
  try {
    const result = await chat.generateResponse(prepared.history, {
      ...samplingOf(request),
      maxTokens: prepared.maxTokens,
      signal: AbortSignal.any([signal, stopping.signal]),
      contextShift: {
        size: () => {
          throw new ContextFull()
        },
      },
      onResponseChunk: (chunk) => {
        if (chunk.type === 'segment') {
          if (chunk.text !== '') onPiece({ type: 'reasoning', text: chunk.text })
          return
        }
        const text = stops.push(chunk.text)
        if (text !== '') onPiece({ type: 'content', text })
        if (stops.stopped) stopping.abort()
      },
      ...(tools === null
        ? grammar === undefined
          ? {}
          : { grammar }
        : {
            functions: tools.callable,
            documentFunctionParams: true,
            maxParallelFunctionCalls: tools.maxCalls,
            onFunctionCallParamsChunk: calls.onChunk,
            onFunctionCall: calls.onCall,
          }),
    })
    if (stops.stopped) return end('stop')
    const reason = result.metadata.stopReason
    return end(reason === 'maxTokens' ? 'length' : reason === 'functionCalls' ? 'tool_calls' : 'stop')
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (stops.stopped) return end('stop')
    if (error instanceof ContextFull) return end('length')
    // The library checks a finished call again, against more than its grammar held; the caller has the call already.
    if (calls.isComplete()) return end('tool_calls')
    throw error
  } finally {
    chat.dispose()
  }
}

/** Refuses a prompt that is too long by any measure before it is tokenized, which would hold up everybody else. */
function checkLength({ messages }: ChatRequest, contextSize: number): void {
  const limit = contextSize * MAX_CHARACTERS_PER_TOKEN
  const length = JSON.stringify(messages).length
  if (length <= limit) return
  throw invalid(
    'messages',
    `The model's context holds ${contextSize} tokens, and the messages have ${length} characters.`,
    'context_length_exceeded',
  )
}

class ContextFull extends Error {}

function renderPrompt(
  engine: Engine,
  wrapper: ChatWrapper,
  history: ChatHistoryItem[],
  functions: ChatModelFunctions | undefined,
): Token[] {
  try {
    const { contextText } = wrapper.generateContextState({
      chatHistory: history,
      documentFunctionParams: true,
      ...(functions === undefined ? {} : { availableFunctions: functions }),
    })
    return contextText.tokenize(engine.model.tokenizer)
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 300) : 'unknown'
    throw invalid('messages', `The model's chat template can't render these messages: ${reason}`)
  }
}

async function createGrammar(engine: Engine, request: ChatRequest): Promise<LlamaGrammar | undefined> {
  const format = request.response_format
  if (format == null || format.type === 'text') return undefined
  const param = 'response_format.json_schema.schema'
  const schema =
    format.type === 'json_object'
      ? ANY_OBJECT
      : toGrammarSchema(format.json_schema.schema, { param, lenient: false })
  try {
    const made = await engine.llama.createGrammarForJsonSchema(schema as { type: 'object' })
    return await engine.llama.createGrammar({
      grammar: narrowNumbers(made.grammar),
      stopGenerationTriggers: made.stopGenerationTriggers,
      trimWhitespaceSuffix: made.trimWhitespaceSuffix,
    })
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 300) : 'unknown'
    throw invalid(param, `No grammar can be made of the schema: ${reason}`, 'invalid_json_schema')
  }
}

/**
 * Brings the sequence to the prompt but for its last token; gives the number of tokens it had already. Rejects with the signal's
 * reason once it is aborted.
 */
export async function prefill(
  slot: Slot,
  { request, prompt }: PreparedChat,
  signal: AbortSignal,
): Promise<number> {
  const { sequence } = slot
  // What a sequence remembers was computed in other batches, whose rounding differs in the last bits.
  if (request.seed != null) await sequence.clearHistory()
  const wanted = prompt.slice(0, -1)
  await sequence.adaptStateToTokens(wanted, false)
  const cached = sequence.nextTokenIndex
  for (let start = cached; start < wanted.length; start += PREFILL_TOKENS) {
    signal.throwIfAborted()
    await sequence.evaluateWithoutGeneratingNewTokens(wanted.slice(start, start + PREFILL_TOKENS))
  }
  signal.throwIfAborted()
  return cached
}

function samplingOf(request: ChatRequest) {
  const { presence_penalty: presence, frequency_penalty: frequency } = request
  const penalized = (presence ?? 0) !== 0 || (frequency ?? 0) !== 0
  return {
    temperature: request.temperature ?? DEFAULTS.temperature,
    topP: request.top_p ?? DEFAULTS.topP,
    topK: request.top_k ?? DEFAULTS.topK,
    minP: request.min_p ?? DEFAULTS.minP,
    // The library's own seed is the second of the day, the same for all requests of that second.
    seed: request.seed == null ? randomInt(2 ** 32) : Number(BigInt.asUintN(32, BigInt(request.seed))),
    repeatPenalty: penalized
      ? ({
          lastTokens: PENALTY_TOKENS,
          penalty: 1,
          presencePenalty: presence ?? 0,
          frequencyPenalty: frequency ?? 0,
        } as const)
      : (false as const),
  }
}
