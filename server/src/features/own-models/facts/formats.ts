/** The formats of weights that repositories have, and how the files tell which one they have. */

import { z } from 'zod'
import { isObject, readText } from './config-object.ts'
import type { ConfigObject } from './config-object.ts'

export const ggufFormat = 'ggufv2'
export const ggufLoraFormat = 'lora-gguf'

/** The format of safetensors with its quantization, or why no engine loads it. */
export type WeightFormat =
  | {
      format: string
      quantization: string
      /** Bits of a packed weight; null for weights that are stored one by one */
      packedBits: number | null
    }
  | { format: string; quantization: string; refusal: string }

const bits = z.int().min(1).max(32)

/** Reads the format in `quantization_config`, which some models with vision have in `text_config`. */
export function readWeightFormat(config: ConfigObject, repository: string): WeightFormat {
  const text = isObject(config['text_config']) ? config['text_config'] : {}
  const given = config['quantization_config'] ?? text['quantization_config'] ?? config['compression_config']
  if (isObject(config['quantization']) && !isObject(given)) return refuseMlx()
  if (!isObject(given)) {
    return /(^|[-_/])mlx([-_]|$)/i.test(repository)
      ? refuseMlx()
      : { format: 'pytorch', quantization: 'none', packedBits: null }
  }
  const method = readText(given['quant_method'] ?? given['quant_algo']).toLowerCase()
  const width = bits.safeParse(given['bits'] ?? given['w_bit']).data ?? 4
  switch (method) {
    case 'awq':
      return { format: 'awq', quantization: `Int${width}`, packedBits: width }
    case 'gptq':
      return { format: 'gptq', quantization: `Int${width}`, packedBits: width }
    case 'fp8':
    case 'fbgemm_fp8':
      return { format: 'fp8', quantization: 'fp8', packedBits: null }
    case 'mxfp4':
      return { format: 'fp4', quantization: 'mxfp4', packedBits: 4 }
    case 'modelopt':
    case 'modelopt_fp4':
    case 'nvfp4':
      return readModelOpt(given)
    case 'compressed-tensors':
      return readCompressedTensors(given)
    default:
      return refuse(method === '' ? 'an unnamed method' : method.slice(0, 40))
  }
}

function readModelOpt(given: ConfigObject): WeightFormat {
  const nested = isObject(given['quantization']) ? given['quantization'] : given
  const algorithm = readText(nested['quant_algo'] ?? given['quant_algo'] ?? 'NVFP4').toUpperCase()
  if (algorithm === 'NVFP4') return { format: 'fp4', quantization: 'nvfp4', packedBits: 4 }
  if (algorithm === 'FP8') return { format: 'fp8', quantization: 'fp8', packedBits: null }
  return refuse(algorithm.slice(0, 40))
}

/** The weights of the first group decide. */
function readCompressedTensors(given: ConfigObject): WeightFormat {
  const groups = isObject(given['config_groups']) ? Object.values(given['config_groups']) : []
  const group = groups.find(isObject)
  const weights = group !== undefined && isObject(group['weights']) ? group['weights'] : null
  const width = bits.safeParse(weights?.['num_bits'])
  if (weights === null || !width.success) return refuse('compressed-tensors without weights')
  const inputs =
    group !== undefined && isObject(group['input_activations']) ? group['input_activations'] : null
  if (weights['type'] === 'float') {
    if (width.data === 8) return { format: 'fp8', quantization: 'fp8', packedBits: null }
    if (width.data !== 4) return refuse(`compressed-tensors with ${width.data}-bit floats`)
    const isMicroscaling = bits.safeParse(weights['group_size']).data === 32
    return { format: 'fp4', quantization: isMicroscaling ? 'mxfp4' : 'nvfp4', packedBits: 4 }
  }
  const activations = bits.safeParse(inputs?.['num_bits']).data ?? 16
  const isPacked = given['format'] === 'pack-quantized'
  const quantization = `w${width.data}a${activations}`
  return { format: 'compressed', quantization, packedBits: isPacked ? width.data : null }
}

function refuse(method: string): WeightFormat {
  return {
    format: 'other',
    quantization: method,
    refusal: `No engine loads weights quantized with ${method}`,
  }
}

function refuseMlx(): WeightFormat {
  return {
    format: 'mlx',
    quantization: 'mlx',
    refusal: 'MLX weights need an engine for Apple GPUs, which Berth does not run',
  }
}

/** Weight files in formats that no engine loads, and why. */
export const refusedFiles: readonly { pattern: RegExp; format: string; reason: string }[] = [
  {
    pattern: /(^|\/)(pytorch_model.*\.bin|.*\.pt|.*\.pth|.*\.ckpt)$/,
    format: 'pickle',
    reason: 'Pickle files can run code when they are loaded; only safetensors and GGUF are accepted',
  },
  { pattern: /\.onnx$/, format: 'onnx', reason: 'No engine loads ONNX' },
  { pattern: /\.(tflite|litertlm|task)$/, format: 'litert', reason: 'No engine loads LiteRT' },
  { pattern: /\.mlpackage\/|\.mlmodel$/, format: 'coreml', reason: 'No engine loads Core ML' },
  {
    pattern: /(^|\/)(tf_model\.h5|flax_model.*\.msgpack)$/,
    format: 'tensorflow',
    reason: 'No engine loads TensorFlow or Flax',
  },
  { pattern: /\.nemo$/, format: 'nemo', reason: 'No engine loads NeMo archives' },
  {
    pattern: /\.(zip|tar|tgz|gz|7z|rar|zst)$/,
    format: 'archive',
    reason: 'Archives are not unpacked; the repository must have the files themselves',
  },
]
