import { expect, test } from 'vitest'
import { readGgufFacts } from './gguf-facts.ts'
import type { GgufHeader, GgufValue } from '../files/gguf-header.ts'
import type { ModelType } from '../../../ports/model-variant.ts'

const header = (name: string, values: Record<string, GgufValue>): GgufHeader => ({
  values: new Map<string, GgufValue>([
    ['general.architecture', name],
    ...Object.entries(values).map(([key, value]) => [`${name}.${key}`, value] as const),
  ]),
  lengths: new Map([['tokenizer.ggml.tokens', 151_936]]),
  parameters: 8e9,
  matrices: null,
})
const attention = (heads: number, kvHeads: GgufValue, dimension: number) => ({
  'attention.head_count': heads,
  'attention.head_count_kv': kvHeads,
  'attention.key_length': dimension,
  'attention.value_length': dimension,
})

// The metadata of published files, as llama.cpp's converter writes it
test.each<[name: string, values: Record<string, GgufValue>, expected: object]>([
  [
    'qwen3',
    { block_count: 36, embedding_length: 4096, ...attention(32, 8, 128) },
    { layers: 36, kvHeads: 8, headDimension: 128 },
  ],
  [
    'llama',
    { block_count: 32, embedding_length: 4096, 'attention.head_count': 32, 'attention.head_count_kv': 8 },
    { layers: 32, kvHeads: 8, headDimension: 128 },
  ],
  [
    'deepseek2',
    {
      block_count: 61,
      embedding_length: 7168,
      ...attention(128, 1, 576),
      'attention.kv_lora_rank': 512,
      'rope.dimension_count': 64,
    },
    { layers: 61, kvHeads: 1, headDimension: 288 },
  ],
  [
    'gemma3',
    { block_count: 34, embedding_length: 2560, ...attention(8, 4, 256), 'attention.sliding_window': 1024 },
    { layers: 34, kvHeads: 4, slidingLayers: 29, slidingWindow: 1024 },
  ],
  [
    'gpt-oss',
    { block_count: 24, embedding_length: 2880, ...attention(64, 8, 64), 'attention.sliding_window': 128 },
    { layers: 24, slidingLayers: 12, slidingWindow: 128 },
  ],
  [
    'gemma3n',
    {
      block_count: 4,
      embedding_length: 2048,
      ...attention(8, 2, 256),
      'attention.sliding_window': 512,
      'attention.sliding_window_pattern': [1, 1, 1, 0],
    },
    { layers: 4, slidingLayers: 3, slidingWindow: 512 },
  ],
  [
    'qwen3next',
    {
      block_count: 48,
      embedding_length: 2048,
      ...attention(16, 2, 256),
      full_attention_interval: 4,
      'ssm.conv_kernel': 4,
      'ssm.inner_size': 4096,
      'ssm.state_size': 128,
      'ssm.group_count': 16,
    },
    { layers: 12, kvHeads: 2, stateBytes: 36 * (4096 * 128 * 4 + 3 * 8192 * 4) },
  ],
  [
    'granitehybrid',
    {
      block_count: 4,
      embedding_length: 4096,
      ...attention(32, [0, 0, 0, 8], 128),
      'ssm.conv_kernel': 4,
      'ssm.inner_size': 8192,
      'ssm.state_size': 128,
      'ssm.group_count': 1,
    },
    { layers: 1, kvHeads: 8, stateBytes: 3 * (8192 * 128 * 4 + 3 * (8192 + 256) * 4) },
  ],
])('%s', (name, values, expected) => {
  expect(readGgufFacts(header(name, values), 8e9)).toMatchObject({
    name,
    architecture: { parameters: 8e9, vocabularySize: 151_936, ...expected },
  })
})

test.each<[string, Record<string, GgufValue>, ModelType]>([
  ['qwen3', {}, 'LLM'],
  ['qwen3', { pooling_type: 3 }, 'embedding'],
  ['qwen3', { pooling_type: 4 }, 'rerank'],
  ['bert', { pooling_type: 2 }, 'embedding'],
  ['nomic-bert', {}, 'embedding'],
])('%s with %j is of type %s', (name, values, type) => {
  expect(readGgufFacts(header(name, values), 1).modelType).toBe(type)
})

test.each<[string, Record<string, GgufValue>]>([
  ['no layers', { embedding_length: 64, ...attention(8, 8, 8) }],
  ['a text for a number', { block_count: '32', embedding_length: 64, ...attention(8, 8, 8) }],
  ['a fraction', { block_count: 1.5, embedding_length: 64, ...attention(8, 8, 8) }],
  ['an impossible number of layers', { block_count: 1e6, embedding_length: 64, ...attention(8, 8, 8) }],
  [
    'states of unknown size',
    { block_count: 8, embedding_length: 64, ...attention(8, 8, 8), 'ssm.state_size': 16 },
  ],
])('a header with %s has no known architecture', (_name, values) => {
  expect(readGgufFacts(header('qwen3', values), 1).architecture).toBeNull()
})
