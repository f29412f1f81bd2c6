import { expect, test } from 'vitest'
import { countParameters } from '../files/count-parameters.ts'
import type { Tensor } from '../files/safetensors-header.ts'
import type { ConfigObject } from './config-object.ts'
import { readWeightFormat } from './formats.ts'
import { listGgufVariants } from './gguf-variants.ts'

const compressed = (weights: ConfigObject, inputs: ConfigObject | null, format: string): ConfigObject => ({
  quantization_config: {
    quant_method: 'compressed-tensors',
    format,
    config_groups: { group_0: { weights, input_activations: inputs } },
  },
})
const method = (quantization_config: ConfigObject): ConfigObject => ({ quantization_config })

// The `quantization_config` of published repositories
test.each<
  [repository: string, config: ConfigObject, format: string, quantization: string, bits: number | null]
>([
  ['Qwen/Qwen3-8B', {}, 'pytorch', 'none', null],
  [
    'Qwen/Qwen2.5-7B-Instruct-AWQ',
    method({ quant_method: 'awq', bits: 4, group_size: 128 }),
    'awq',
    'Int4',
    4,
  ],
  ['Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8', method({ quant_method: 'gptq', bits: 8 }), 'gptq', 'Int8', 8],
  ['Qwen/Qwen3-8B-FP8', method({ quant_method: 'fp8', weight_block_size: [128, 128] }), 'fp8', 'fp8', null],
  ['openai/gpt-oss-20b', method({ quant_method: 'mxfp4' }), 'fp4', 'mxfp4', 4],
  [
    'nvidia/Llama-3.1-8B-Instruct-NVFP4',
    method({ quant_method: 'modelopt', quant_algo: 'NVFP4' }),
    'fp4',
    'nvfp4',
    4,
  ],
  [
    'nvidia/Llama-3.1-8B-Instruct-FP8',
    method({ quant_method: 'modelopt', quant_algo: 'FP8' }),
    'fp8',
    'fp8',
    null,
  ],
  [
    'RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16',
    compressed({ num_bits: 4, type: 'int', group_size: 128 }, null, 'pack-quantized'),
    'compressed',
    'w4a16',
    4,
  ],
  [
    'RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8',
    compressed({ num_bits: 8, type: 'int' }, { num_bits: 8 }, 'int-quantized'),
    'compressed',
    'w8a8',
    null,
  ],
  [
    'RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic',
    compressed({ num_bits: 8, type: 'float' }, { num_bits: 8 }, 'float-quantized'),
    'fp8',
    'fp8',
    null,
  ],
  [
    'RedHatAI/Qwen3-8B-NVFP4',
    compressed({ num_bits: 4, type: 'float', group_size: 16 }, { num_bits: 4 }, 'nvfp4-pack-quantized'),
    'fp4',
    'nvfp4',
    4,
  ],
])('%s', (repository, config, format, quantization, packedBits) => {
  expect(readWeightFormat(config, repository)).toEqual({ format, quantization, packedBits })
})

test.each<[repository: string, config: ConfigObject, refusal: RegExp]>([
  ['mlx-community/Qwen3-8B-4bit', { quantization: { group_size: 64, bits: 4 } }, /MLX/],
  ['mlx-community/Qwen3-8B-bf16', {}, /MLX/],
  ['unsloth/Qwen3-8B-bnb-4bit', method({ quant_method: 'bitsandbytes', load_in_4bit: true }), /bitsandbytes/],
  ['ISTA-DASLab/Qwen3-8B-hqq', method({ quant_method: 'hqq' }), /hqq/],
  ['a/b', method({}), /unnamed method/],
  ['a/b', compressed({ num_bits: '4' }, null, 'x'), /without weights/],
  ['a/b', method({ quant_method: { toString: null } }), /unnamed method/],
])('%s is refused with a reason', (repository, config, refusal) => {
  expect(readWeightFormat(config, repository)).toMatchObject({ refusal: expect.stringMatching(refusal) })
})

test('packed weights count as often as they hold weights, and scales not at all', () => {
  const tensor = (name: string, type: string, elements: number): Tensor => ({
    name,
    type,
    shape: [elements],
    elements,
  })
  const gptq = [tensor('a.qweight', 'I32', 1000), tensor('a.qzeros', 'I32', 8), tensor('a.scales', 'F16', 64)]
  expect(countParameters([...gptq, tensor('a.g_idx', 'I32', 99)], 4)).toBe(8000)
  const mxfp4 = [tensor('a_blocks', 'U8', 500), tensor('a_scales', 'U8', 31), tensor('b.weight', 'BF16', 10)]
  expect(countParameters(mxfp4, 4)).toBe(1010)
  const nvfp4 = [
    tensor('a.weight', 'U8', 500),
    tensor('a.weight_scale_2', 'F32', 1),
    tensor('n.weight', 'BF16', 5),
  ]
  expect(countParameters(nvfp4, 4)).toBe(1005)
  const packed = [tensor('a.weight_packed', 'I32', 100), tensor('a.weight_shape', 'I64', 2)]
  expect(countParameters(packed, 4)).toBe(800)
  const fp8 = [tensor('a.weight', 'F8_E4M3', 500), tensor('a.weight_scale_inv', 'F32', 4)]
  expect(countParameters(fp8, null)).toBe(500)
})

test('GGUF files: a variant per quantization, split files as one, the projector and matrices apart', () => {
  const files = [
    'Qwen3-8B-Q4_K_M.gguf',
    'Qwen3-8B-Q8_0.gguf',
    'UD-Q4_K_XL/Qwen3-8B-UD-Q4_K_XL-00001-of-00002.gguf',
    'UD-Q4_K_XL/Qwen3-8B-UD-Q4_K_XL-00002-of-00002.gguf',
    'BF16/Qwen3-8B-BF16-00001-of-00003.gguf',
    'qwen3-8b-iq2_xxs.gguf',
    'other/Qwen3-8B-Q8_0.gguf',
    'mmproj-BF16.gguf',
    'mmproj-F16.gguf',
    'imatrix.gguf',
    'README.md',
  ].map((path, index) => ({ path, bytes: 1000 - index }))
  const { variants, projector } = listGgufVariants(files)
  expect(projector?.path).toBe('mmproj-F16.gguf')
  expect(variants.map(({ quantization, files: own, reason }) => [quantization, own.length, reason])).toEqual([
    ['UD-Q4_K_XL', 2, null],
    ['Q4_K_M', 1, null],
    ['Q8_0', 1, null],
    ['BF16', 1, 'The repository has 1 of 3 parts'],
    ['IQ2_XXS', 1, null],
    ['Q8_0', 1, 'Another file is Q8_0 too, so other/Qwen3-8B-Q8_0.gguf is left out'],
  ])
})
