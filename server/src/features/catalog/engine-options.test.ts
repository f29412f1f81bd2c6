import { expect, test } from 'vitest'
import { engines } from '../../../test/support/engines.ts'
import { findOptionObstacle } from './engine-options.ts'

const { vllm, llamaCpp, embedded } = engines

const speculative = (members: object) => ({ 'speculative-config': JSON.stringify(members) })

test.each([
  [vllm, { 'kv-cache-dtype': 'fp8', 'enable-prefix-caching': false, 'max-num-batched-tokens': 8192 }],
  [vllm, speculative({ method: 'ngram', num_speculative_tokens: 4, prompt_lookup_max: 3 })],
  [vllm, { 'default-chat-template-kwargs': '{"enable_thinking": false}' }],
  [llamaCpp, { 'cache-type-k': 'q8_0', 'flash-attn': 'on', 'reasoning-budget': -1, 'draft-p-min': 0.5 }],
  [embedded, {}],
  [undefined, {}],
])('an engine takes its own options %#', (engine, options) => {
  expect(findOptionObstacle(engine, options)).toBeNull()
})

test('an engine without options says so', () => {
  expect(findOptionObstacle(embedded, { threads: 2 })).toBe("Berth's engine takes no options.")
  expect(findOptionObstacle(undefined, { threads: 2 })).toBe('The engine takes no options.')
})

// Addresses, keys, models, files, code, memory, capacity and logs, with aliases, abbreviations and negations
const refusedOfVllm =
  `host port uds root-path api-key ssl-keyfile allowed-origins middleware model model-tag revision code-revision tokenizer hf-config-path
   hf-overrides hf-token download-dir load-format model-loader-extra-config served-model-name config trust-remote-code trust-remote-cod trust_remote_code
   no-trust-remote-code trust-remote-code=true tool-parser-plugin reasoning-parser-plugin structured-outputs-config logits-processors
   logits-processor-pattern io-processor-plugin worker-cls worker-extension-cls scheduler-cls distributed-executor-backend compilation-config
   compilation-config.backend speculative-config.model cc O O3 kv-transfer-config ec-transfer-config kv-events-config profiler-config
   otlp-traces-endpoint chat-template lora-modules enable-lora max-lora-rank allowed-local-media-path allowed-media-domains media-io-kwargs
   enable-prompt-embeds enable-mm-embeds gpu-memory-utilization kv-cache-memory-bytes num-gpu-blocks-override swap-space cpu-offload-gb
   kv-offloading-size max-model-len max-num-seqs tensor-parallel-size tp pipeline-parallel-size data-parallel-address data-parallel-rpc-port
   master-addr nnodes headless enable-log-requests enable-log-outputs log-config-file runner task convert no-enable-prompt-tokens-details
   trust-request-chat-template prefix-caching-hash-algo constructor toString __proto__`.split(/\s+/)
const refusedOfLlamaCpp =
  `host port api-key api-key-file ssl-key-file ssl-cert-file path model m mu model-url hf hf-repo hfr hf-file hf-token docker-repo models-dir
   models-preset lora lora-scaled control-vector mmproj mm mmproj-url model-draft md hfd spec-draft-model model-vocoder lookup-cache-static lcs lookup-cache-dynamic
   slot-save-path media-path chat-template chat-template-file jinja grammar-file json-schema-file file log-file log-verbose alias ctx-size c parallel np
   n-gpu-layers ngl gpu-layers device dev threads t threads-http cache-ram cram ctx-checkpoints mlock cpu-mask numa rpc override-tensor override-kv
   embeddings rerank metrics props slots webui tools agent public-path reuse-port api-prefix no-slots cache_type_k config logit-bias`.split(
    /\s+/,
  )

test.each([
  ...refusedOfVllm.map((name) => [vllm, name] as const),
  ...refusedOfLlamaCpp.map((name) => [llamaCpp, name] as const),
])('%o refuses %s', (engine, name) => {
  for (const value of ['x', '/etc/passwd', 1, true, false]) {
    expect(findOptionObstacle(engine, { [name]: value })).toMatch(/ can’t be set\. A deployment can set: /)
  }
})

test.each([
  ['kv-cache-dtype', '--trust-remote-code'],
  ['kv-cache-dtype', '-x'],
  ['kv-cache-dtype', 'a b'],
  ['kv-cache-dtype', '../../x'],
  ['kv-cache-dtype', '$(VLLM_API_KEY)'],
  ['kv-cache-dtype', 8],
  ['enable-prefix-caching', 'x'],
  ['max-logprobs', 1e9],
  ['max-logprobs', 1.5],
  ['generation-config', '/data'],
  ['default-chat-template-kwargs', '{"a": "$(VLLM_API_KEY)"}'],
  ['default-chat-template-kwargs', '{"a": "\\u0024(VLLM_API_KEY)"}'],
  ['default-chat-template-kwargs', '{"a": {}}'],
  ['default-chat-template-kwargs', '[]'],
  ['default-chat-template-kwargs', 'null'],
  ['default-chat-template-kwargs', '@/etc/passwd'],
  ['speculative-config', '{"method": "ngram", "model": "/data"}'],
  ['speculative-config', '{"__proto__": {"model": "x"}}'],
  ['override-generation-config', '{"cache_implementation": "x"}'],
])('vLLM refuses %s=%s', (name, value) => {
  expect(findOptionObstacle(vllm, { [name]: value })).toMatch(`\`${name}\` must be `)
})
