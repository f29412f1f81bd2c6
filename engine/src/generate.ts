import { randomInt } from 'node:crypto'
import {
  LlamaChat,
  LlamaText,
  type ChatHistoryItem,
  type ChatModelFunctions,
  type ChatWrapper,
  type LlamaGrammar,
  type Token,
} from 'node-llama-cpp'
import type { ChatRequest } from './chat-request.ts'
import { invalid } from './errors.ts'
import { toGrammar, toGrammarText } from './grammar.ts'
import { toHistory } from './history.ts'
import { toLogprobEntry, type LogprobEntry, type TokenLogprob } from './logprobs.ts'
import type { LoadedModel } from './model.ts'
import type { Slot } from './sequences.ts'
import { createStopFilter } from './stop-filter.ts'
import type { AnswerEnd, AnswerPiece } from './answer.ts'
import { adaptWrapper, createCallReporter, selectTools, type SelectedTools } from './tools.ts'

/** An upper bound on the average token length of any tokenizer. */
export const MAX_CHARACTERS_PER_TOKEN = 128
const PENALTY_TOKENS = 1024

/** The sampling defaults of llama.cpp's server. */
const DEFAULTS = { temperature: 0.8, topP: 0.95, topK: 40, minP: 0.05 } as const

/** A validated request with its rendered prompt. */
export interface PreparedChat {
  request: ChatRequest
  history: ChatHistoryItem[]
  wrapper: ChatWrapper
  tools: SelectedTools | null
  grammar: LlamaGrammar | undefined
  prompt: Token[]
  maxTokens: number
}

/** Validates a request as far as possible before it takes a sequence. Throws a RequestError. */
export async function prepareChat(loaded: LoadedModel, request: ChatRequest): Promise<PreparedChat> {
  const { chat } = loaded
  if (chat === null) throw invalid('model', 'This is an embedding model. Send the request to /v1/embeddings.')
  const history = toHistory(request.messages)
  checkLength(request, chat.contextSize)
  const tools = selectTools(request, chat.canCallTools)
  const format = request.response_format?.type ?? 'text'
  if (tools !== null && format !== 'text') {
    throw invalid('response_format', "response_format can't be combined with tools. Set tool_choice to none.")
  }
  if (request.top_logprobs != null && request.logprobs !== true) {
    throw invalid('top_logprobs', 'top_logprobs requires logprobs: true.')
  }
  const grammar = await createGrammar(loaded, request)
  const wrapper = tools === null ? chat.wrapper : adaptWrapper(chat.wrapper, tools)
  const prompt = renderPrompt(loaded, wrapper, history, tools?.callable)

  // node-llama-cpp reserves one token of the context.
  const room = chat.contextSize - 1 - prompt.length
  if (room < 1) {
    throw invalid(
      'messages',
      `The prompt has ${prompt.length} tokens, but the model's context holds ${chat.contextSize}. Shorten the messages.`,
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
 * Generates the choice `index` of the answer in a slot that `prefill` has prepared and reports each piece. Rejects with the signal's reason when the signal
 * aborts.
 */
export async function writeAnswer(
  prepared: PreparedChat,
  slot: Slot,
  {
    index,
    cachedTokens,
    signal,
    onPiece,
  }: { index: number; cachedTokens: number; signal: AbortSignal; onPiece: (piece: AnswerPiece) => void },
): Promise<AnswerEnd> {
  const { request, prompt, grammar, tools } = prepared
  const { sequence } = slot
  const stops = createStopFilter([request.stop ?? []].flat())
  const stopping = new AbortController()
  const calls = createCallReporter(onPiece)
  const before = sequence.tokenMeter.usedOutputTokens
  /** Entries of generated tokens whose text has not arrived yet, and of text that has not been sent */
  const sampled: TokenLogprob[] = []
  let unsent: LogprobEntry[] = []
  if (request.logprobs === true) {
    slot.logprobs = { top: request.top_logprobs ?? 0, onToken: (entry) => sampled.push(entry) }
  }
  const takeLogprobs = (tokens: readonly Token[]): LogprobEntry[] =>
    tokens.flatMap((token) => {
      const index = sampled.findIndex((entry) => entry.token === token)
      return index < 0 ? [] : [toLogprobEntry(sampled.splice(0, index + 1)[index]!, sequence.model)]
    })
  const send = (text: string): void => {
    if (text === '' && unsent.length === 0) return
    onPiece({ type: 'content', text, ...(unsent.length === 0 ? {} : { logprobs: unsent }) })
    unsent = []
  }
  const end = (finishReason: AnswerEnd['finishReason']): AnswerEnd => {
    const rest = stops.flush()
    if (stops.stopped) unsent = []
    send(rest)
    const completionTokens = sequence.tokenMeter.usedOutputTokens - before
    return { finishReason, promptTokens: prompt.length, completionTokens, cachedTokens }
  }

  const chat = new LlamaChat({ contextSequence: sequence, chatWrapper: prepared.wrapper })
  try {
    const result = await chat.generateResponse(prepared.history, {
      ...samplingOf(request, index),
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
          takeLogprobs(chunk.tokens)
          return
        }
        unsent.push(...takeLogprobs(chunk.tokens))
        const text = stops.push(chunk.text)
        if (text !== '') send(text)
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
    throw error
  } finally {
    slot.logprobs = null
    chat.dispose()
  }
}

/** Rejects an oversized prompt before tokenization, which would block other requests. */
function checkLength({ messages }: ChatRequest, contextSize: number): void {
  const limit = contextSize * MAX_CHARACTERS_PER_TOKEN
  const length = JSON.stringify(messages).length
  if (length <= limit) return
  throw invalid(
    'messages',
    `The messages have ${length} characters, too many for the model's context of ${contextSize} tokens. Shorten the messages.`,
    'context_length_exceeded',
  )
}

class ContextFull extends Error {}

function renderPrompt(
  loaded: LoadedModel,
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
    return contextText.tokenize(loaded.model.tokenizer)
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 300) : 'unknown'
    throw invalid('messages', `The model's chat template cannot render these messages: ${reason}`)
  }
}

async function createGrammar(loaded: LoadedModel, request: ChatRequest): Promise<LlamaGrammar | undefined> {
  const format = request.response_format
  if (format == null || format.type === 'text') return undefined
  const param = 'response_format.json_schema.schema'
  const schema = format.type === 'json_object' ? { type: 'object' } : format.json_schema.schema
  const text = toGrammarText(toGrammar(schema, param))
  try {
    return await loaded.llama.createGrammar({
      grammar: text,
      stopGenerationTriggers: [LlamaText('\n'.repeat(4))],
      trimWhitespaceSuffix: true,
    })
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 300) : 'unknown'
    throw invalid(param, `The schema cannot be converted to a grammar: ${reason}`, 'invalid_json_schema')
  }
}

/**
 * Evaluates the prompt except its last token. Resolves to the number of cached tokens. Rejects with the signal's reason when the
 * signal aborts.
 */
export async function prefill(
  slot: Slot,
  { request, prompt }: PreparedChat,
  signal: AbortSignal,
): Promise<number> {
  const wanted = prompt.slice(0, -1)
  // Cached state was computed in different batches, so its last bits differ. A seed must give the same answer every time.
  const cached = await slot.align(wanted, { reuse: request.seed == null })
  await slot.append(wanted.slice(cached), signal)
  return cached
}

function samplingOf(request: ChatRequest, index: number) {
  const { presence_penalty: presence, frequency_penalty: frequency } = request
  const penalized = (presence ?? 0) !== 0 || (frequency ?? 0) !== 0
  return {
    temperature: request.temperature ?? DEFAULTS.temperature,
    topP: request.top_p ?? DEFAULTS.topP,
    topK: request.top_k ?? DEFAULTS.topK,
    minP: request.min_p ?? DEFAULTS.minP,
    // node-llama-cpp's default seed is the current second, which concurrent requests share.
    seed:
      request.seed == null
        ? randomInt(2 ** 32)
        : Number(BigInt.asUintN(32, BigInt(request.seed) + BigInt(index))),
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
