import { formatParameters } from '../../format.ts'
import { text } from '../../text/index.ts'
import type { VariantChoice } from './variants.ts'

/** A format as people write it. */
export const nameFormat = (format: string) => text.variants.formatNames[format] ?? format

/** A quantization as people write it. */
export const nameQuantization = (quantization: string) =>
  quantization.toLowerCase() === 'none' ? text.variants.notQuantized : quantization

/** A variant in two parts: size and format, and the quantization where the format does not say it already. */
export function nameParts({ model_size_in_billions, model_format, quantization }: VariantChoice): string[] {
  const name = `${formatParameters(model_size_in_billions)} ${nameFormat(model_format)}`
  const isSaid = quantization.toLowerCase() === model_format.toLowerCase()
  return isSaid ? [name] : [name, nameQuantization(quantization)]
}

/** A variant in a few words, such as "7B GGUF Q4_K_M", and `end`, what tells this deployment of it apart. */
export const nameChoice = (choice: VariantChoice, end = '') =>
  nameParts(choice).join(' ') + (end && ` · ${end}`)

type Named = VariantChoice & { id: string; model_name: string }

/** What is shown of an id beside names that do not tell enough. */
export const endOfId = (id: string) => `…${id.slice(-6)}`

/** What tells deployments of one variant apart, by id: the end of it; empty for one that is alone of its kind. */
export function nameApart(deployments: readonly Named[]): ReadonlyMap<string, string> {
  const kinds = Map.groupBy(deployments, (one) => `${one.model_name} ${nameChoice(one)}`)
  return new Map(
    [...kinds.values()].flatMap((alike) =>
      alike.map(({ id }) => [id, alike.length > 1 ? endOfId(id) : ''] as const),
    ),
  )
}
