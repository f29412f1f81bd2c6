import type { ModelType } from '../../../ports/model-variant.ts'
import { chatCompletions } from './chat-completions.ts'
import { completions } from './completions.ts'
import { embeddings } from './embeddings.ts'
import { countTokens } from './messages/count-tokens.ts'
import { messages } from './messages/messages.ts'
import type { MainProtocol, Protocol } from './protocol.ts'
import { rerank, rerankAliases } from './rerank.ts'
import { responses } from './responses/responses.ts'
import { tokenize } from './tokenize.ts'

/** The protocol that all engines of a model type have: for warm-ups, and for callers on a wrong route. */
export const mainProtocols: Readonly<Record<ModelType, MainProtocol>> = {
  LLM: chatCompletions,
  embedding: embeddings,
  rerank,
}

/** Every protocol; each has a route. */
export const protocols: readonly Protocol[] = [
  chatCompletions,
  completions,
  embeddings,
  rerank,
  ...rerankAliases,
  messages,
  countTokens,
  responses,
  tokenize,
]
