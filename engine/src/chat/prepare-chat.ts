import { LlamaText } from 'node-llama-cpp'
import type { ChatHistoryItem, ChatModelFunctions, ChatWrapper, LlamaGrammar, Token } from 'node-llama-cpp'
import { invalid } from '../base/errors.ts'
import { toGrammar, toGrammarText } from '../grammar/grammar.ts'
import { maxCharactersPerToken } from '../model/limits.ts'
import type { LoadedModel } from '../model/load-model.ts'
import type { ChatRequest } from './chat-request.ts'
import { toHistory } from './history.ts'
import { adaptWrapper, selectTools } from './tools.ts'
import type { SelectedTools } from './tools.ts'

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
  if (chat === null) throw invalid('model', 'This model generates no text.')
  const history = toHistory(request.messages)
  checkLength(request, chat.contextSize)
  const tools = selectTools(request, chat.canCallTools)
  checkCombinations(request, tools)
  const grammar = await createGrammar(loaded, request)
  const wrapper = tools === null ? chat.wrapper : adaptWrapper(chat.wrapper, tools)
  const prompt = renderPrompt(loaded, wrapper, history, tools?.callable)
  const maxTokens = limitTokens(request, prompt.length, chat.contextSize)
  return { request, history, wrapper, tools, grammar, prompt, maxTokens }
}

/** Rejects an oversized prompt before tokenization, which would block other requests. */
function checkLength({ messages }: ChatRequest, contextSize: number): void {
  const limit = contextSize * maxCharactersPerToken
  const length = JSON.stringify(messages).length
  if (length <= limit) return
  throw invalid(
    'messages',
    `This model's maximum context length is ${contextSize} tokens, but the messages have ${length} characters. Shorten the messages.`,
    'context_length_exceeded',
  )
}

function checkCombinations(request: ChatRequest, tools: SelectedTools | null): void {
  if (tools !== null && (request.response_format?.type ?? 'text') !== 'text') {
    throw invalid('response_format', "response_format can't be combined with tools. Set tool_choice to none.")
  }
  if (request.top_logprobs != null && request.logprobs !== true) {
    throw invalid('top_logprobs', 'top_logprobs requires logprobs: true.')
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

/** The tokens that the answer may have: those that the request wants and the context has room for. */
function limitTokens(request: ChatRequest, promptTokens: number, contextSize: number): number {
  // node-llama-cpp reserves one token of the context.
  const room = contextSize - 1 - promptTokens
  if (room < 1) {
    throw invalid(
      'messages',
      // Clients such as LiteLLM recognize OpenAI's words.
      `This model's maximum context length is ${contextSize} tokens, but the messages have ${promptTokens} tokens. Shorten the messages.`,
      'context_length_exceeded',
    )
  }
  return Math.min(request.max_completion_tokens ?? request.max_tokens ?? room, room)
}
