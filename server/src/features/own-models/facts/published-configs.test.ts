/** Published models: the memory facts of `https://huggingface.co/<repository>/blob/main/config.json`. */

import { describe, expect, test } from 'vitest'
import { estimateMemory } from '../../placement/memory-estimate.ts'
import { readConfigArchitecture } from './config-architecture.ts'
import type { ConfigObject } from './config-object.ts'
import { readWeightFormat } from './formats.ts'

/** Layers with a cache, KV heads, head dimension; layers with a window, its length; bytes of state */
type Cache = [layers: number, kvHeads: number, dimension: number, ...more: number[]]

/** The five facts that most configurations have, in the order of `names` */
const names = ['num_hidden_layers', 'num_attention_heads', 'num_key_value_heads', 'hidden_size', 'vocab_size']
const facts = (values: readonly number[], more: ConfigObject = {}): ConfigObject => ({
  ...Object.fromEntries(values.map((value, index) => [names[index]!, value])),
  ...more,
})
const repeat = <Item>(items: readonly Item[], times: number): Item[] =>
  Array.from({ length: times }, () => items).flat()

const qwen25 = {
  model_type: 'qwen2',
  use_sliding_window: false,
  sliding_window: 131_072,
  max_window_layers: 28,
}
const gatedDelta = {
  linear_num_key_heads: 16,
  linear_key_head_dim: 128,
  linear_value_head_dim: 128,
  linear_conv_kernel_dim: 4,
}
const latent = { kv_lora_rank: 512, qk_rope_head_dim: 64 }
const alternating = (layers: number) => repeat(['sliding_attention', 'full_attention'], layers / 2)

const dense: [repository: string, config: ConfigObject, cache: Cache][] = [
  ['Qwen/Qwen2.5-0.5B-Instruct', facts([24, 14, 2, 896, 151_936], qwen25), [24, 2, 64]],
  ['Qwen/Qwen2.5-7B-Instruct', facts([28, 28, 4, 3584, 152_064], qwen25), [28, 4, 128]],
  ['Qwen/Qwen2.5-14B-Instruct', facts([48, 40, 8, 5120, 152_064], qwen25), [48, 8, 128]],
  ['Qwen/Qwen2.5-32B-Instruct', facts([64, 40, 8, 5120, 152_064], qwen25), [64, 8, 128]],
  ['Qwen/Qwen2.5-72B-Instruct', facts([80, 64, 8, 8192, 152_064], qwen25), [80, 8, 128]],
  ['Qwen/Qwen3-0.6B', facts([28, 16, 8, 1024, 151_936], { head_dim: 128 }), [28, 8, 128]],
  ['Qwen/Qwen3-8B', facts([36, 32, 8, 4096, 151_936], { head_dim: 128 }), [36, 8, 128]],
  ['Qwen/Qwen3-Embedding-0.6B', facts([28, 16, 8, 1024, 151_669], { head_dim: 128 }), [28, 8, 128]],
  [
    'Qwen/Qwen3-VL-8B-Instruct',
    { text_config: facts([36, 32, 8, 4096, 151_936], { head_dim: 128 }), vision_config: { depth: 27 } },
    [36, 8, 128],
  ],
  ['meta-llama/Llama-3.1-8B-Instruct', facts([32, 32, 8, 4096, 128_256]), [32, 8, 128]],
  ['meta-llama/Llama-3.1-70B-Instruct', facts([80, 64, 8, 8192, 128_256]), [80, 8, 128]],
  ['meta-llama/Llama-3.1-405B-Instruct', facts([126, 128, 8, 16_384, 128_256]), [126, 8, 128]],
  ['meta-llama/Llama-3.2-1B-Instruct', facts([16, 32, 8, 2048, 128_256], { head_dim: 64 }), [16, 8, 64]],
  [
    'mistralai/Mistral-7B-Instruct-v0.3',
    facts([32, 32, 8, 4096, 32_768], { sliding_window: null, max_position_embeddings: 32_768 }),
    [32, 8, 128],
  ],
  [
    'mistralai/Mistral-Nemo-Instruct-2407',
    facts([40, 32, 8, 5120, 131_072], { head_dim: 128 }),
    [40, 8, 128],
  ],
  [
    'mistralai/Mistral-Small-3.2-24B-Instruct-2506',
    { text_config: facts([40, 32, 8, 5120, 131_072], { head_dim: 128 }) },
    [40, 8, 128],
  ],
  ['microsoft/phi-4', facts([40, 40, 10, 5120, 100_352], { sliding_window: null }), [40, 10, 128]],
  [
    'microsoft/Phi-4-mini-instruct',
    facts([32, 24, 8, 3072, 200_064], { sliding_window: 262_144, max_position_embeddings: 131_072 }),
    [32, 8, 128],
  ],
  ['01-ai/Yi-34B', facts([60, 56, 8, 7168, 64_000]), [60, 8, 128]],
  ['allenai/OLMo-2-1124-7B', facts([32, 32, 32, 4096, 100_352]), [32, 32, 128]],
  ['HuggingFaceTB/SmolLM2-135M', facts([30, 9, 3, 576, 49_152]), [30, 3, 64]],
  [
    'THUDM/glm-4-9b-chat',
    {
      num_layers: 40,
      num_attention_heads: 32,
      multi_query_attention: true,
      multi_query_group_num: 2,
      kv_channels: 128,
      hidden_size: 4096,
      padded_vocab_size: 151_552,
      seq_length: 131_072,
    },
    [40, 2, 128],
  ],
  [
    'tiiuae/falcon-7b',
    {
      num_hidden_layers: 32,
      num_attention_heads: 71,
      hidden_size: 4544,
      vocab_size: 65_024,
      multi_query: true,
      new_decoder_architecture: false,
    },
    [32, 1, 64],
  ],
  [
    'tiiuae/falcon-40b',
    {
      num_hidden_layers: 60,
      num_attention_heads: 128,
      num_kv_heads: 8,
      hidden_size: 8192,
      vocab_size: 65_024,
      multi_query: true,
      new_decoder_architecture: true,
    },
    [60, 8, 64],
  ],
  [
    'openai-community/gpt2',
    { n_layer: 12, n_head: 12, n_embd: 768, vocab_size: 50_257, n_positions: 1024 },
    [12, 12, 64],
  ],
  [
    'EleutherAI/gpt-neox-20b',
    { num_hidden_layers: 44, num_attention_heads: 64, hidden_size: 6144, vocab_size: 50_432 },
    [44, 64, 96],
  ],
  [
    'BAAI/bge-m3',
    { num_hidden_layers: 24, num_attention_heads: 16, hidden_size: 1024, vocab_size: 250_002 },
    [24, 16, 64],
  ],
]

const mixtures: typeof dense = [
  [
    'Qwen/Qwen3-30B-A3B',
    facts([48, 32, 4, 2048, 151_936], { head_dim: 128, num_experts: 128 }),
    [48, 4, 128],
  ],
  [
    'Qwen/Qwen3-235B-A22B',
    facts([94, 64, 4, 4096, 151_936], { head_dim: 128, num_experts: 128 }),
    [94, 4, 128],
  ],
  [
    'mistralai/Mixtral-8x7B-Instruct-v0.1',
    facts([32, 32, 8, 4096, 32_000], { num_local_experts: 8 }),
    [32, 8, 128],
  ],
  [
    'mistralai/Mixtral-8x22B-Instruct-v0.1',
    facts([56, 48, 8, 6144, 32_768], { num_local_experts: 8 }),
    [56, 8, 128],
  ],
  [
    'zai-org/GLM-4.5-Air',
    facts([46, 96, 8, 4096, 151_552], { head_dim: 128, n_routed_experts: 128 }),
    [46, 8, 128],
  ],
  ['deepseek-ai/DeepSeek-V3', facts([61, 128, 128, 7168, 129_280], latent), [61, 1, 288]],
  ['deepseek-ai/DeepSeek-V2-Lite', facts([27, 16, 16, 2048, 102_400], latent), [27, 1, 288]],
  [
    'deepseek-ai/DeepSeek-V3.2',
    facts([61, 128, 128, 7168, 129_280], { ...latent, index_head_dim: 128 }),
    [61, 1, 321],
  ],
  ['moonshotai/Kimi-K2-Instruct', facts([61, 64, 64, 7168, 163_840], latent), [61, 1, 288]],
]

const windowed: typeof dense = [
  [
    'mistralai/Mistral-7B-v0.1',
    facts([32, 32, 8, 4096, 32_000], { sliding_window: 4096, max_position_embeddings: 32_768 }),
    [32, 8, 128, 32, 4096],
  ],
  [
    'bigcode/starcoder2-15b',
    facts([40, 48, 4, 6144, 49_152], { sliding_window: 4096, max_position_embeddings: 16_384 }),
    [40, 4, 128, 40, 4096],
  ],
  [
    'google/gemma-2-9b-it',
    facts([42, 16, 8, 3584, 256_000], { model_type: 'gemma2', head_dim: 256, sliding_window: 4096 }),
    [42, 8, 256, 21, 4096],
  ],
  [
    'google/gemma-2-27b-it',
    facts([46, 32, 16, 4608, 256_000], { model_type: 'gemma2', head_dim: 128, sliding_window: 4096 }),
    [46, 16, 128, 23, 4096],
  ],
  [
    'google/gemma-3-1b-it',
    facts([26, 4, 1, 1152, 262_144], { head_dim: 256, sliding_window: 512, sliding_window_pattern: 6 }),
    [26, 1, 256, 22, 512],
  ],
  [
    'google/gemma-3-4b-it',
    {
      text_config: {
        model_type: 'gemma3_text',
        hidden_size: 2560,
        num_hidden_layers: 34,
        sliding_window: 1024,
      },
    },
    [34, 4, 256, 29, 1024],
  ],
  [
    'google/gemma-3-27b-it',
    {
      text_config: {
        model_type: 'gemma3_text',
        head_dim: 128,
        hidden_size: 5376,
        num_attention_heads: 32,
        num_hidden_layers: 62,
        num_key_value_heads: 16,
        sliding_window: 1024,
      },
    },
    [62, 16, 128, 52, 1024],
  ],
  [
    'openai/gpt-oss-20b',
    facts([24, 64, 8, 2880, 201_088], { head_dim: 64, sliding_window: 128, layer_types: alternating(24) }),
    [24, 8, 64, 12, 128],
  ],
  [
    'openai/gpt-oss-120b',
    facts([36, 64, 8, 2880, 201_088], { head_dim: 64, sliding_window: 128, layer_types: alternating(36) }),
    [36, 8, 64, 18, 128],
  ],
  [
    'meta-llama/Llama-4-Scout-17B-16E-Instruct',
    {
      text_config: facts([48, 40, 8, 5120, 202_048], {
        head_dim: 128,
        attention_chunk_size: 8192,
        no_rope_layers: repeat([1, 1, 1, 0], 12),
      }),
    },
    [48, 8, 128, 36, 8192],
  ],
  [
    'CohereLabs/c4ai-command-r7b-12-2024',
    facts([32, 32, 8, 4096, 256_000], { sliding_window: 4096, sliding_window_pattern: 4 }),
    [32, 8, 128, 24, 4096],
  ],
  [
    'microsoft/Phi-3-mini-4k-instruct',
    facts([32, 32, 32, 3072, 32_064], { sliding_window: 2047, max_position_embeddings: 4096 }),
    [32, 32, 96, 32, 2047],
  ],
]

const hybrid: typeof dense = [
  [
    'Qwen/Qwen3-Next-80B-A3B-Instruct',
    facts([48, 16, 2, 2048, 151_936], {
      head_dim: 256,
      full_attention_interval: 4,
      ...gatedDelta,
      linear_num_value_heads: 32,
    }),
    [12, 2, 256, 0, 0, 77_266_944],
  ],
  [
    'Qwen/Qwen3.6-27B',
    {
      text_config: facts([64, 24, 4, 5120, 248_320], {
        head_dim: 256,
        layer_types: repeat(
          ['linear_attention', 'linear_attention', 'linear_attention', 'full_attention'],
          16,
        ),
        ...gatedDelta,
        linear_num_value_heads: 48,
      }),
    },
    [16, 4, 256, 0, 0, 153_944_064],
  ],
  [
    'ai21labs/Jamba-v0.1',
    facts([32, 32, 8, 4096, 65_536], {
      attn_layer_period: 8,
      mamba_expand: 2,
      mamba_d_state: 16,
      mamba_d_conv: 4,
    }),
    [4, 8, 128, 0, 0, 28 * (8192 * 16 * 4 + 3 * 8192 * 2)],
  ],
  [
    'nvidia/Nemotron-H-8B-Base-8K',
    facts([52, 32, 8, 4096, 131_072], {
      attention_head_dim: 128,
      hybrid_override_pattern: 'M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-',
      mamba_num_heads: 128,
      mamba_head_dim: 64,
      n_groups: 8,
      ssm_state_size: 128,
      conv_kernel: 4,
    }),
    [4, 8, 128, 0, 0, 24 * (128 * 64 * 128 * 4 + 3 * (128 * 64 + 2 * 8 * 128) * 2)],
  ],
  [
    'ibm-granite/granite-4.0-h-small',
    facts([40, 32, 8, 4096, 100_352], {
      layer_types: repeat([...repeat(['mamba'], 9), 'attention'], 4),
      mamba_n_heads: 128,
      mamba_d_head: 64,
      mamba_n_groups: 1,
      mamba_d_state: 128,
      mamba_d_conv: 4,
    }),
    [4, 8, 128, 0, 0, 36 * (128 * 64 * 128 * 4 + 3 * (128 * 64 + 2 * 128) * 2)],
  ],
  [
    'LiquidAI/LFM2-1.2B',
    facts([16, 32, 8, 2048, 65_536], {
      layer_types: [...repeat(['conv'], 10), ...repeat(['full_attention'], 6)],
      conv_L_cache: 3,
    }),
    [6, 8, 64, 0, 0, 10 * 2048 * 3 * 2],
  ],
]

const published = [...dense, ...mixtures, ...windowed, ...hybrid]

test.each(published)('%s', (_repository, config, cache) => {
  const [layers, kvHeads, headDimension, slidingLayers = 0, slidingWindow = 0, stateBytes = 0] = cache
  expect(readConfigArchitecture(config, 7e9)).toMatchObject({
    parameters: 7e9,
    layers,
    kvHeads,
    headDimension,
    ...(slidingLayers > 0 ? { slidingLayers, slidingWindow } : {}),
    ...(stateBytes > 0 ? { stateBytes } : {}),
  })
  const { slidingLayers: sliding = 0, stateBytes: states = 0 } = readConfigArchitecture(config, 7e9) ?? {}
  expect([sliding, states]).toEqual([slidingLayers, stateBytes])
})

test('at least 40 models, of which 10 are mixtures, hybrid or have a window', () => {
  expect(published.length).toBeGreaterThanOrEqual(40)
  expect(mixtures.length + windowed.length + hybrid.length).toBeGreaterThanOrEqual(10)
})

describe('memory for 4 requests of 8192 tokens in a shared cache on one GPU, in GiB', () => {
  const gib = 2 ** 30
  const method = (quant_method: string, bits?: number): ConfigObject => ({
    quantization_config: { quant_method, bits },
  })
  /** The `quantization_config` of the owners' repositories, or the quantization of a GGUF file */
  const formats: [name: string, config: ConfigObject | null, engine: 'shared-cache' | 'per-slot'][] = [
    ['bf16', {}, 'shared-cache'],
    ['fp8', method('fp8'), 'shared-cache'],
    ['awq', method('awq', 4), 'shared-cache'],
    ['gptq', method('gptq', 4), 'shared-cache'],
    ['Q8_0', null, 'per-slot'],
    ['Q4_K_M', null, 'per-slot'],
  ]
  // Parameters, then the needs of bf16, fp8, 4-bit integers, Q8_0 and Q4_K_M
  const needs: [repository: string, parameters: number, needs: number[]][] = [
    ['Qwen/Qwen2.5-0.5B-Instruct', 494_032_768, [2.8, 2.5, 2.3, 2.4, 2.2]],
    ['Qwen/Qwen2.5-7B-Instruct', 7_615_616_512, [18.2, 12.0, 8.8, 11.2, 7.8]],
    ['Qwen/Qwen2.5-14B-Instruct', 14_770_033_664, [36.4, 23.9, 17.4, 22.8, 16.3]],
    ['Qwen/Qwen2.5-32B-Instruct', 32_763_876_352, [73.6, 44.0, 28.8, 43.5, 29.1]],
    ['meta-llama/Llama-3.1-70B-Instruct', 70_553_706_496, [149.5, 84.6, 51.2, 84.8, 53.7]],
    ['Qwen/Qwen3-235B-A22B', 235_093_634_560, [467.2, 245.6, 131.3, 251.6, 147.9]],
  ]
  const rows = needs.flatMap(([repository, parameters, [bf16, fp8, int4, q8, q4]]) =>
    [bf16!, fp8!, int4!, int4!, q8!, q4!].map(
      (need, index) => [repository, formats[index]!, parameters, need] as const,
    ),
  )
  test.each(rows.map((row) => [row[0], row[1][0], row[3], row] as const))(
    '%s in %s: %d',
    (repository, name, need, [, [, quantization, sizing], parameters]) => {
      const config = published.find(([each]) => each === repository)![1]
      const read =
        quantization === null
          ? { format: 'ggufv2', quantization: name }
          : readWeightFormat(quantization, repository)
      const { totalBytes } = estimateMemory(
        {
          variant: {
            modelName: 'a',
            modelType: 'LLM',
            format: read.format,
            sizeInBillions: parameters / 1e9,
            quantization: read.quantization,
            contextLength: 32_768,
            architecture: readConfigArchitecture(config, parameters),
            weightBytes: null,
            weights: { kind: 'huggingface', repo: repository, revision: 'main', files: [] },
            engines: {},
          },
          engine: { sizing, images: 'none', profile: 'any' },
        },
        { contextTokens: 8192, parallelSequences: 4 },
        { gpuCount: 1 },
      )
      expect(Math.abs(totalBytes / gib - need)).toBeLessThan(0.01 * need + 0.1)
    },
  )
})

test.each<[string, ConfigObject]>([
  ['no layers', { num_attention_heads: 8, hidden_size: 64, vocab_size: 100 }],
  ['texts instead of numbers', facts([1, 1, 1, 1, 1], { num_hidden_layers: '32' })],
  ['a negative size', facts([32, 32, 8, -4096, 100])],
  ['an impossible number of layers', facts([1e9, 32, 8, 4096, 100])],
  ['recurrent layers of unknown size', facts([32, 32, 8, 4096, 100], { model_type: 'rwkv7' })],
  [
    'layers named like a method of objects',
    facts([2, 2, 2, 64, 100], { layer_types: ['constructor', 'toString'] }),
  ],
  ['layers of an unknown kind', facts([2, 2, 2, 64, 100], { layer_types: ['full_attention', 'magic'] })],
])('a configuration with %s has no known architecture', (_name, config) => {
  expect(readConfigArchitecture(config, 1e9)).toBeNull()
})
