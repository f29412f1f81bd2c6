import { CONTEXT } from '../../../bench/engine/random-model.ts'
import type { ModelShape } from '../../../bench/engine/random-model.ts'

/** The entry of the catalog for a file of `prepareRandomModel`, as JSON. */
export function describeRandomModel(
  shape: ModelShape,
  { file, bytes }: { file: string; bytes: number },
): string {
  // Q8_0 takes 34 bytes for 32 weights.
  const parameters = Math.round((bytes / 34) * 32)
  return describe(shape, parameters, { format: 'ggufv2', quantization: 'Q8_0', weights: { file } })
}

/** The entry of the catalog for a repository of `make_qwen2.py`, as JSON. */
export function describeRandomRepository(
  shape: ModelShape,
  { huggingface, bytes }: { huggingface: string; bytes: number },
): string {
  const weights = { huggingface }
  return describe(shape, bytes / 2, { format: 'pytorch', quantization: 'none', weights })
}

function describe(
  shape: ModelShape,
  parameters: number,
  { format, quantization, weights }: { format: string; quantization: string; weights: object },
): string {
  const { name, layers, width, heads, kvHeads, vocabulary } = shape
  const architecture = {
    parameters,
    layers,
    hidden_size: width,
    attention_heads: heads,
    kv_heads: kvHeads,
    head_dim: width / heads,
    vocabulary_size: vocabulary,
  }
  const billions = parameters / 1e9
  return JSON.stringify({
    id: name,
    model_name: name,
    display_name: name,
    provider: 'Berth',
    family: 'random',
    model_type: 'LLM',
    description: 'Random weights',
    license: 'apache-2.0',
    tags: ['chat'],
    enabled: true,
    context_length: CONTEXT,
    sizes: [
      {
        billions,
        architecture,
        variants: [{ format, quantizations: [quantization], weights }],
      },
    ],
    default: { format, billions, quantization },
  })
}
