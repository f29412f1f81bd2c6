import { vllmReasoningParsers, vllmToolParsers } from '../../src/features/catalog/engine-profiles.ts'

const bare = /^$/
const count = /^[1-9]\d*$/
const anyText = /./s
const oneOf = (words: readonly string[]) => new RegExp(`^(${words.join('|')})$`)

/**
 * The options of `vllm serve` that Berth and the catalog use, with their values. The suite of vLLM asks the
 * real one.
 */
export const vllmOptions: Record<string, RegExp> = {
  revision: anyText,
  'tokenizer-revision': anyText,
  'served-model-name': anyText,
  host: /^0\.0\.0\.0$/,
  port: count,
  'max-model-len': count,
  'max-num-seqs': count,
  'tensor-parallel-size': /^[1248]$/,
  'gpu-memory-utilization': /^0\.\d+$/,
  'allowed-media-domains': /^none\.invalid$/,
  dtype: /^half$/,
  quantization: /^fp8$/,
  runner: /^pooling$/,
  'enable-auto-tool-choice': bare,
  'tool-call-parser': oneOf(vllmToolParsers),
  'reasoning-parser': oneOf(vllmReasoningParsers),
  'chat-template':
    /^(\/vllm-workspace\/examples\/tool_chat_template_[\w.]+\.jinja|<\|im_start\|>[\s\S]+\}\})$/,
  'hf-overrides': /^\{.+\}$/,
  'trust-remote-code': bare,
  'tokenizer-mode': /^(deepseek_v32|deepseek_v4|mistral)$/,
  'config-format': /^mistral$/,
  'load-format': /^mistral$/,
  'kv-cache-dtype': /^fp8$/,
  'block-size': count,
  'enable-expert-parallel': bare,
  'enable-prompt-tokens-details': bare,
  'chat-template-content-format': /^string$/,
  'enable-lora': bare,
  'max-loras': count,
  'max-lora-rank': count,
  'lora-modules': /^\S+=\S+$/,
}

/** The options of `llama-server` that Berth and the catalog use, with their values, from build b10964. */
export const llamaServerOptions: Record<string, RegExp> = {
  'hf-repo': /^[\w.-]+\/[\w.-]+$/,
  'hf-file': /\.gguf$/,
  model: /\.gguf$/,
  'model-url': /^https:\/\/.+\.gguf/,
  mmproj: /\.gguf$/,
  'mmproj-url': /^https:\/\/.+\.gguf$/,
  'no-mmproj': bare,
  alias: anyText,
  'ctx-size': count,
  parallel: count,
  'n-gpu-layers': count,
  device: /^CUDA0(,CUDA[1-7])*$/,
  host: /^0\.0\.0\.0$/,
  port: count,
  metrics: bare,
  embeddings: bare,
  pooling: /^rank$/,
  'batch-size': count,
  'ubatch-size': count,
  'cache-ram': count,
  jinja: bare,
  'reasoning-format': /^deepseek$/,
  lora: /\.gguf$/,
  'lora-init-without-apply': bare,
}
