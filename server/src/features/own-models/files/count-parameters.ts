import type { Tensor } from './safetensors-header.ts'

/** Scales, zero points and orders of quantized weights */
const extraName = /(scales?|scale_2|scale_inv|qzeros|zero_point|g_idx|weight_shape)$/
/** Several weights in one element, also where the type is that of bytes */
const packedName = /(qweight|weight_packed|_blocks)$/
const typeBits: ReadonlyMap<string, number> = new Map([
  ['I32', 32],
  ['U32', 32],
  ['I64', 64],
  ['U8', 8],
  ['I8', 8],
])

/** Counts the weights of a model. `packedBits` are the bits of a packed weight; null if none are packed. */
export function countParameters(tensors: readonly Tensor[], packedBits: number | null): number {
  return tensors.reduce((sum, tensor) => sum + countWeights(tensor, packedBits), 0)
}

function countWeights({ name, type, elements }: Tensor, packedBits: number | null): number {
  if (extraName.test(name)) return 0
  const bits = typeBits.get(type)
  const isPacked = packedName.test(name) || (type === 'U8' && name.endsWith('.weight'))
  if (packedBits === null || bits === undefined || !isPacked) return elements
  return Math.floor((elements * bits) / packedBits)
}
