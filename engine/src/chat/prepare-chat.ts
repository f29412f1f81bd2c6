import type { LlamaGrammar, Token } from 'node-llama-cpp'
import { invalid } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { AnswerReader } from '../calls/answer-reader.ts'
import { maxCharactersPerToken } from '../model/limits.ts'
import type { LoadedModel } from '../model/load-model.ts'
import { createReader, createRules } from './answer-rules.ts'
import type { ChatRequest } from './chat-request.ts'
import { toTemplateMessages } from './history.ts'
import { readJson } from '../template/to-value.ts'
import { isDict } from '../template/values.ts'
import { renderPrompt } from './render-prompt.ts'
import { readVariables } from './template-variables.ts'
import { findLeastTokens } from './sampling.ts'
import { selectTools } from './tools.ts'
import type { WrittenRules } from './write-rules.ts'

/** A validated request with its rendered prompt. */
export interface PreparedChat {
  request: ChatRequest
  grammar: LlamaGrammar | null
  prompt: Token[]
  maxTokens: number
  /** A token that ends a message of an answer, not the answer; null for most models */
  messageEnd: Token | null
  createReader: () => AnswerReader
}

/** What a request brings beside its parsed body. */
export interface ChatContext {
  /** The unchanged body */
  bodyText: string
  log: Log
}

/** Validates a request as far as possible before it takes a sequence. Throws a RequestError. */
export async function prepareChat(
  loaded: LoadedModel,
  request: ChatRequest,
  { bodyText, log }: ChatContext,
): Promise<PreparedChat> {
  const { chat } = loaded
  if (chat === null) throw invalid('model', 'This model generates no text.')
  const { template } = chat
  if (template === null) {
    throw invalid(
      'model',
      'The file of this model has no chat template, so it serves /v1/completions only.',
      'chat_not_supported',
    )
  }
  checkLength(request, chat.contextSize)
  if (request.top_logprobs != null && request.logprobs !== true) {
    throw invalid('top_logprobs', 'top_logprobs requires logprobs: true.')
  }
  const tools = selectTools(request, template.calls !== null)
  const messages = toTemplateMessages(request.messages, template)
  const variables = readVariables(request, template)
  const shown = tools === null ? undefined : readTools(request, bodyText)
  const prompt = renderPrompt(template, loaded.model, { messages, tools: shown, variables }, log)
  const rules = await createRules(request, template, { tools, prompt: prompt.text })
  if (rules !== null && findLeastTokens(request) > 0) {
    const param = request.ignore_eos === true ? 'ignore_eos' : 'min_tokens'
    throw invalid(param, `${param} can't be combined with ${rules.param.split('.', 1)[0]}.`)
  }
  const grammar = rules === null ? null : await compile(loaded, rules)
  return {
    request,
    grammar,
    prompt: prompt.tokens,
    maxTokens: limitTokens(request, prompt.tokens.length, chat.contextSize),
    messageEnd: template.calls === 'harmony' ? findToken(loaded, '<|end|>') : null,
    createReader: () => createReader(template, { tools, prompt: prompt.text }),
  }
}

function findToken({ model }: LoadedModel, text: string): Token | null {
  const tokens = model.tokenize(text, true)
  return tokens.length === 1 ? tokens[0]! : null
}

/** The tools for the template, as the caller wrote them. */
function readTools(request: ChatRequest, bodyText: string): unknown {
  const body = readJson(bodyText)
  return (isDict(body) ? body.value.get('tools') : undefined) ?? request.tools
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

async function compile(loaded: LoadedModel, { text, param }: WrittenRules): Promise<LlamaGrammar> {
  try {
    return await loaded.llama.createGrammar({ grammar: text })
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 300) : 'unknown'
    throw invalid(param, `The schema cannot be converted to a grammar: ${reason}`, 'invalid_json_schema')
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
