import type { EngineRoutes, IgnoredFields } from '../../../ports/runtime-engine.ts'

/** Routes besides chat completions and embeddings, and the oldest version with each; null for every one. */
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

/** Ignored fields that change what a response means, as vLLM 0.32 and llama-server b11669 showed. */
export const ignoredFields = {
  vllm: {
    audio: null,
    format: null,
    grammar: null,
    guided_choice: '0.12.0',
    guided_grammar: '0.12.0',
    guided_json: '0.12.0',
    guided_regex: '0.12.0',
    json_schema: null,
    max_chunks_per_doc: null,
    modalities: null,
    overlap_tokens: null,
    schema: null,
    truncate: null,
    truncation: null,
  },
  llamaCpp: {
    audio: null,
    dimensions: null,
    echo: null,
    format: null,
    guided_choice: null,
    guided_grammar: null,
    guided_json: null,
    guided_regex: null,
    instruction: null,
    max_chunks_per_doc: null,
    max_tokens_per_doc: null,
    min_tokens: null,
    modalities: null,
    overlap_tokens: null,
    schema: null,
    structured_outputs: null,
    suffix: null,
    truncate: null,
    truncate_prompt_tokens: null,
    truncation: null,
  },
} as const satisfies Record<string, IgnoredFields>
