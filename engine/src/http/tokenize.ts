import { LlamaVocabularyType } from 'node-llama-cpp'
import type { Token } from 'node-llama-cpp'
import { z } from 'zod'
import { parseBody } from '../base/parse-body.ts'
import { chatRequestBody } from '../chat/chat-request.ts'
import { toToolRequest } from '../chat/legacy-functions.ts'
import { prepareChat } from '../chat/prepare-chat.ts'
import type { ChatContext } from '../chat/prepare-chat.ts'
import { readPrompt } from '../completions/prepare-completion.ts'
import { invalid } from '../base/errors.ts'
import type { LoadedModel } from '../model/load-model.ts'

const textBody = z.object({
  prompt: z.string(),
  add_special_tokens: z.boolean().nullish(),
  return_token_strs: z.boolean().nullish(),
})

const chatBody = z.object({ return_token_strs: z.boolean().nullish() })

/** Counts the tokens of a text or of a chat's prompt, in vLLM's form. Throws a RequestError. */
export async function tokenize(loaded: LoadedModel, body: unknown, context: ChatContext): Promise<object> {
  const { model, chat, embeddingContextSize } = loaded
  const { prompt, messages } = (body ?? {}) as { prompt?: unknown; messages?: unknown }
  if (prompt === undefined && messages === undefined) throw invalid('prompt', 'Send prompt or messages.')
  const tokens = await (prompt === undefined
    ? tokenizeChat(loaded, body, context)
    : tokenizeText(loaded, body))
  const { return_token_strs: wantsTexts } = parseBody(chatBody, body)
  return {
    count: tokens.length,
    max_model_len: chat?.contextSize ?? embeddingContextSize,
    tokens,
    token_strs: wantsTexts === true ? tokens.map((token) => model.detokenize([token], true)) : null,
  }
}

/** Adds the last token that an embedding model's inputs get. */
async function addEnd(loaded: LoadedModel, tokens: Token[]): Promise<Token[]> {
  const { model, chat, ranking } = loaded
  if (chat !== null || ranking !== null) return tokens
  const length = (await loaded.embeddings()).calculateInputLength([...tokens])
  const { sep, eos } = model.tokens
  const end = model.vocabularyType === LlamaVocabularyType.wpm ? sep : eos
  return length > tokens.length && end !== null ? [...tokens, end] : tokens
}

async function tokenizeChat(loaded: LoadedModel, body: unknown, context: ChatContext) {
  return (await prepareChat(loaded, toToolRequest(parseBody(chatRequestBody, body)), context)).prompt
}

async function tokenizeText(loaded: LoadedModel, body: unknown) {
  const { model, chat, embeddingContextSize } = loaded
  const { prompt, add_special_tokens: addsSpecial } = parseBody(textBody, body)
  const contextSize = chat?.contextSize ?? embeddingContextSize
  const { tokens, added } = readPrompt(model, prompt, { param: 'prompt', suffix: '', contextSize })
  return addsSpecial === false ? tokens.slice(added) : addEnd(loaded, tokens)
}
