import type { LlamaModel, Token } from 'node-llama-cpp'
import { invalid } from '../base/errors.ts'
import { maxCharactersPerToken } from '../model/limits.ts'
import type { LoadedModel } from '../model/load-model.ts'
import { checkCompletion } from './completion-request.ts'
import type { CompletionRequest } from './completion-request.ts'

/** One prompt of a request. */
export interface PreparedPrompt {
  tokens: Token[]
  /** Tokens of the prompt that are no text of the caller, such as the model's first token */
  added: number
  maxTokens: number
}

/** A validated request with its prompts. */
export interface PreparedCompletion {
  request: CompletionRequest
  prompts: readonly PreparedPrompt[]
}

/** OpenAI's default */
const defaultMaxTokens = 16

/** Validates a request as far as possible before it takes a sequence. Throws a RequestError. */
export function prepareCompletion(loaded: LoadedModel, request: CompletionRequest): PreparedCompletion {
  const { chat, model } = loaded
  if (chat === null) throw invalid('model', 'This model generates no text.')
  checkCompletion(request)
  const given = listPrompts(request.prompt)
  const prompts = given.map((prompt, index) => {
    const param = given.length > 1 ? `prompt.${index}` : 'prompt'
    const read = readPrompt(model, prompt, {
      param,
      suffix: request.suffix ?? '',
      contextSize: chat.contextSize,
    })
    if (read.tokens.length === 0) throw invalid(param, `${param}: must not be empty.`)
    // node-llama-cpp reserves one token of the context.
    const room = chat.contextSize - 1 - read.tokens.length
    if (room < 1) throw tooLong(param, chat.contextSize, `${read.tokens.length} tokens`)
    return { ...read, maxTokens: Math.min(request.max_tokens ?? defaultMaxTokens, room) }
  })
  return { request, prompts }
}

type GivenPrompt = string | readonly number[]

function listPrompts(prompt: CompletionRequest['prompt']): readonly GivenPrompt[] {
  if (typeof prompt === 'string') return [prompt]
  return typeof prompt[0] === 'number' ? [prompt as number[]] : (prompt as GivenPrompt[])
}

interface PromptRules {
  param: string
  suffix: string
  contextSize: number
}

/** Converts a prompt to tokens. Throws a RequestError. */
export function readPrompt(
  model: LlamaModel,
  prompt: GivenPrompt,
  { param, suffix, contextSize }: PromptRules,
): { tokens: Token[]; added: number } {
  // Tokenizing a long text would block other requests.
  const length = typeof prompt === 'string' ? prompt.length + suffix.length : 0
  if (length > contextSize * maxCharactersPerToken) throw tooLong(param, contextSize, `${length} characters`)
  const text = typeof prompt === 'string' ? tokenizeText(model, prompt) : checkTokens(model, prompt, param)
  if (suffix !== '') return { tokens: fillIn(model, text, model.tokenize(suffix)), added: 0 }
  const first = typeof prompt === 'string' && model.tokens.shouldPrependBosToken ? model.tokens.bos : null
  const tokens = first === null || text[0] === first ? text : [first, ...text]
  return { tokens, added: tokens.length - text.length }
}

/** Special tokens in a prompt are what they say, because the prompt is all that the model sees. */
function tokenizeText(model: LlamaModel, text: string): Token[] {
  return text === '' ? [] : model.tokenize(text, true)
}

function checkTokens(model: LlamaModel, tokens: readonly number[], param: string): Token[] {
  const vocabulary = model.fileInfo.metadata.tokenizer.ggml.tokens.length
  if (tokens.every((token) => token < vocabulary)) return [...tokens] as Token[]
  throw invalid(
    param,
    `The tokens of ${param} must be less than ${vocabulary}, the size of this model's vocabulary.`,
  )
}

/** The prompt with which models fill in the text between two others. */
function fillIn(model: LlamaModel, before: readonly Token[], after: readonly Token[]): Token[] {
  const { infill, bos, shouldPrependBosToken } = model.tokens
  const { prefix, suffix, middle } = infill
  if (prefix === null || suffix === null) {
    throw invalid('suffix', "This model can't fill in text. Omit suffix.", 'unsupported_parameter')
  }
  const first = shouldPrependBosToken && bos !== null ? [bos] : []
  return middle === null
    ? [...first, suffix, ...after, prefix, ...before]
    : [...first, prefix, ...before, suffix, ...after, middle]
}

function tooLong(param: string, contextSize: number, length: string) {
  return invalid(
    param,
    // Clients such as LiteLLM recognize OpenAI's words.
    `This model's maximum context length is ${contextSize} tokens, but ${param} has ${length}. Shorten it.`,
    'context_length_exceeded',
  )
}
