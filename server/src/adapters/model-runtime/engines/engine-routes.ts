import type { EngineRoutes } from '../../../ports/model-runtime.ts'

/**
 * Which engine serves which route, next to chat completions and embeddings: the oldest version that does, null for every version. A new
 * route of an engine is one line here.
 */
export const engineRoutes = {
  vllm: {
    completions: null,
    responses: '0.10.0',
    messages: '0.11.1',
    count_tokens: '0.18.0',
    rerank: null,
    tokenize: null,
  },
  llamaCpp: {
    completions: null,
    responses: '7850',
    messages: '7200',
    count_tokens: '7200',
    rerank: null,
    tokenize_content: null,
  },
  xinference: { completions: null, responses: '4.1.0', messages: '3.0.0', rerank: null },
  embedded: { completions: null, rerank: null, tokenize: null },
} as const satisfies Record<string, EngineRoutes>
