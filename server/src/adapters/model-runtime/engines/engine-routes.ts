import type { EngineRoutes, IgnoredFields } from '../../../ports/runtime-engine.ts'

/**
 * Which engine serves which route, next to chat completions and embeddings: the oldest version that does,
 * null for every version. A new route of an engine is one line here.
 */
export const engineRoutes = {
  vllm: {
    completions: null,
    responses: '0.32.0',
    messages: '0.32.0',
    count_tokens: '0.32.0',
    rerank: null,
    tokenize: null,
  },
  llamaCpp: {
    completions: null,
    messages: '11669',
    count_tokens: '11669',
    rerank: null,
    tokenize_content: null,
  },
  xinference: { completions: null, rerank: null },
  embedded: { completions: null, rerank: null, tokenize: null },
} as const satisfies Record<string, EngineRoutes>

/**
 * Which engine ignores which field that changes what an answer means, as vLLM 0.32 and llama-server b11669
 * showed.
 */
export const ignoredFields = {
  vllm: {
    audio: null,
    guided_choice: '0.12.0',
    guided_grammar: '0.12.0',
    guided_json: '0.12.0',
    guided_regex: '0.12.0',
    modalities: null,
  },
  llamaCpp: {
    audio: null,
    echo: null,
    guided_choice: null,
    guided_grammar: null,
    guided_json: null,
    guided_regex: null,
    min_tokens: null,
    modalities: null,
    structured_outputs: null,
    suffix: null,
  },
} as const satisfies Record<string, IgnoredFields>
