import { formatParameters } from '../../format.ts'
import { text } from '../../text/index.ts'
import type { Variant } from './variants.ts'

/** The display name of a model format, such as GGUF for `ggufv2`. */
export const nameFormat = (format: string) => text.variants.formatNames[format] ?? format

export const nameQuantization = (quantization: string) =>
  quantization.toLowerCase() === 'none' ? text.variants.notQuantized : quantization

/** Names a variant in up to two parts: size and format, then the quantization unless implied. */
export function nameVariantParts({ model_size_in_billions, model_format, quantization }: Variant): string[] {
  // An endpoint doesn't say what its models are.
  if (model_size_in_billions === 0) return [nameFormat(model_format)]
  const name = `${formatParameters(model_size_in_billions)} ${nameFormat(model_format)}`
  const isImplied = quantization.toLowerCase() === model_format.toLowerCase()
  return isImplied ? [name] : [name, nameQuantization(quantization)]
}

/** Names a variant, such as "7B GGUF Q4_K_M". A suffix can identify one deployment of it. */
export const nameVariant = (choice: Variant, suffix = '') =>
  nameVariantParts(choice).join(' ') + (suffix && ` · ${suffix}`)
