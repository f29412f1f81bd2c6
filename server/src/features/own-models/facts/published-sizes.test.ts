/**
 * What an import plans: 1.05 × the files, whose size is known, the cache for 4 requests of 8192 tokens, 1.5
 * GiB for the engine, and as much for a projector. Configurations and headers are the repositories'.
 */

import { expect, test } from 'vitest'
import type { GgufHeader, GgufValue } from '../files/gguf-header.ts'
import { estimateMemory } from '../../placement/memory-estimate.ts'
import type { EngineProfiles, ModelArchitecture, ModelType } from '../../../ports/model-variant.ts'
import { readConfigArchitecture } from './config-architecture.ts'
import type { ConfigObject } from './config-object.ts'
import { readWeightFormat } from './formats.ts'
import { readGgufFacts } from './gguf-facts.ts'
import { listGgufVariants } from './gguf-variants.ts'

const gib = 2 ** 30

interface Imported {
  sizing: 'shared-cache' | 'per-slot'
  modelType: ModelType
  format: string
  quantization: string
  architecture: ModelArchitecture | null
  bytes: number
  engines?: EngineProfiles
}

function estimateNeed({ sizing, modelType, architecture, bytes, engines = {}, ...names }: Imported): number {
  const variant = {
    ...names,
    modelName: 'a',
    modelType,
    sizeInBillions: 1,
    contextLength: 32_768,
    architecture,
    weightBytes: bytes,
    weights: { kind: 'huggingface' as const, repo: 'a/b', revision: 'main', files: [] },
    engines,
  }
  const engine = { sizing, images: 'projector', profile: 'llamaCpp' } as const
  const capacity = { contextTokens: 8192, parallelSequences: 4 }
  return estimateMemory({ variant, engine }, capacity, { gpuCount: 1 }).totalBytes / gib
}

const gptOss = (layers: number): ConfigObject => ({
  num_hidden_layers: layers,
  num_attention_heads: 64,
  num_key_value_heads: 8,
  head_dim: 64,
  hidden_size: 2880,
  vocab_size: 201_088,
  sliding_window: 128,
  layer_types: Array.from({ length: layers }, (_, layer) =>
    layer % 2 === 0 ? 'sliding_attention' : 'full_attention',
  ),
  quantization_config: { quant_method: 'mxfp4' },
})
const llama = (layers: number, heads: number, hidden: number, quantization: object): ConfigObject => ({
  num_hidden_layers: layers,
  num_attention_heads: heads,
  num_key_value_heads: 8,
  hidden_size: hidden,
  vocab_size: 128_256,
  quantization_config: quantization,
})
const compressed = (format: string, weights: object, activationBits: number | null) => ({
  quant_method: 'compressed-tensors',
  format,
  config_groups: {
    group_0: {
      weights,
      input_activations: activationBits === null ? null : { num_bits: activationBits },
    },
  },
})
const fourBitFloats = { num_bits: 4, type: 'float', group_size: 16 }

// `total_size` of `model.safetensors.index.json`, or the size that the model card names
test.each<[repository: string, config: ConfigObject, bytes: number, names: string, need: number]>([
  // https://arxiv.org/abs/2508.10925, table 1, has the same sizes: 12.8 and 60.8 GiB.
  ['openai/gpt-oss-20b', gptOss(24), 13_761_264_768, 'fp4 mxfp4', 15.9],
  ['openai/gpt-oss-120b', gptOss(36), 65_248_815_744, 'fp4 mxfp4', 66.7],
  [
    'nvidia/Llama-3.1-405B-Instruct-FP4', // "reducing the disk size … by approximately 3.5x"
    llama(126, 128, 16_384, { quant_method: 'modelopt', quant_algo: 'NVFP4' }),
    (405_853_388_800 * 2) / 3.5,
    'fp4 nvfp4',
    244,
  ],
  [
    'JongYeop/Llama-3.1-70B-Instruct-NVFP4-W4A4',
    llama(80, 64, 8192, compressed('nvfp4-pack-quantized', fourBitFloats, 4)),
    40 * gib,
    'fp4 nvfp4',
    53.5,
  ],
  [
    'JongYeop/Llama-3.1-8B-Instruct-INT8-W8A8-Dynamic-Per-Token',
    llama(32, 32, 4096, compressed('int-quantized', { num_bits: 8, type: 'int' }, 8)),
    8.5 * gib,
    'compressed w8a8',
    14.4,
  ],
  [
    'moonshotai/Kimi-K2.6',
    {
      text_config: {
        num_hidden_layers: 61,
        num_attention_heads: 64,
        num_key_value_heads: 64,
        hidden_size: 7168,
        vocab_size: 163_840,
        kv_lora_rank: 512,
        qk_rope_head_dim: 64,
        quantization_config: compressed('pack-quantized', { num_bits: 4, type: 'int', group_size: 32 }, null),
      },
    },
    595_148_192_736,
    'compressed w4a16',
    585.6,
  ],
])('%s', (repository, config, bytes, names, need) => {
  const { format, quantization } = readWeightFormat(config, repository)
  expect(`${format} ${quantization}`).toBe(names)
  const architecture = readConfigArchitecture(config, 1e9)
  const imported = { sizing: 'shared-cache', modelType: 'LLM', format, quantization } as const
  expect(Math.abs(estimateNeed({ ...imported, architecture, bytes }) - need)).toBeLessThan(0.05)
})

/** Layers, hidden size, heads, KV heads, head dimension, then other keys */
type Header = [
  name: string,
  sizes: [number, number, number, number, number],
  more?: Record<string, GgufValue>,
]

function toHeader([name, [layers, hidden, heads, kvHeads, dimension], more = {}]: Header): GgufHeader {
  const values = {
    block_count: layers,
    embedding_length: hidden,
    'attention.head_count': heads,
    'attention.head_count_kv': kvHeads,
    'attention.key_length': dimension,
    'attention.value_length': dimension,
    vocab_size: 150_000,
    ...more,
  }
  const named = Object.entries(values).map(([key, value]) => [`${name}.${key}`, value] as const)
  const all = new Map<string, GgufValue>([['general.architecture', name], ...named])
  return { values: all, lengths: new Map(), parameters: 1e9, matrices: null }
}

test.each<[repository: string, files: [string, number][], Header, names: string, need: number]>([
  [
    'Qwen/Qwen2.5-7B-Instruct-GGUF, split in two files',
    [
      ['qwen2.5-7b-instruct-q4_k_m-00001-of-00002.gguf', 3_993_201_344],
      ['qwen2.5-7b-instruct-q4_k_m-00002-of-00002.gguf', 689_872_288],
    ],
    ['qwen2', [28, 3584, 28, 4, 128]],
    'LLM Q4_K_M',
    7.8,
  ],
  [
    'Qwen/Qwen3-VL-8B-Instruct-GGUF, with a projector',
    [
      ['Qwen3VL-8B-Instruct-Q4_K_M.gguf', 5_027_784_800],
      ['mmproj-Qwen3VL-8B-Instruct-F16.gguf', 1_159_029_824],
    ],
    ['qwen3vl', [36, 4096, 32, 8, 128]],
    'LLM Q4_K_M',
    12.4,
  ],
  [
    'gpustack/bge-reranker-v2-m3-GGUF, a reranker with rank pooling',
    [['bge-reranker-v2-m3-Q8_0.gguf', 635_676_416]],
    ['bert', [24, 1024, 16, 16, 64], { pooling_type: 4 }],
    'rerank Q8_0',
    5.1,
  ],
  [
    'ggml-org/gpt-oss-20b-GGUF',
    [['gpt-oss-20b-mxfp4.gguf', 12_109_566_560]],
    ['gpt-oss', [24, 2880, 64, 8, 64], { 'attention.sliding_window': 128 }],
    'LLM MXFP4',
    14.2,
  ],
])('%s', (_repository, files, header, names, need) => {
  const { variants, projector } = listGgufVariants(files.map(([path, bytes]) => ({ path, bytes })))
  expect(variants).toHaveLength(1)
  const { quantization, bytes } = variants[0]!
  const { modelType, architecture } = readGgufFacts(toHeader(header), 1e9)
  expect(`${modelType} ${quantization}`).toBe(names)
  const engines = projector === null ? {} : { llamaCpp: { projector: projector.path } }
  const imported = { sizing: 'per-slot', modelType, format: 'ggufv2', quantization, engines } as const
  expect(Math.abs(estimateNeed({ ...imported, architecture, bytes }) - need)).toBeLessThan(0.05)
})
