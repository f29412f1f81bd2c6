import type { ModelVariant } from '../../ports/model-variant.ts'
import type { Services } from '../../services.ts'
import { listModelsAndLoras } from '../catalog/find-variant.ts'

/** The cached weights of a variant. */
export interface VariantWeights {
  modelId: string
  variant: ModelVariant
  bytes: number
  usedAt: Date
  /** True if a deployment needs them */
  isNeeded: boolean
}

/** The cached weights of an organization's models and LoRAs, latest use first; none without a cache. */
export async function listVariantWeights(
  deps: Pick<Services, 'db' | 'runtimes'>,
  organizationId: number,
): Promise<VariantWeights[]> {
  const { weightCache } = deps.runtimes
  if (weightCache === undefined) return []
  const models = await listModelsAndLoras(deps, organizationId)
  // Weights in the operator's own files and uploaded ones are in no cache.
  const variants = models.flatMap(({ id, variants: each }) =>
    each
      .filter(({ weights }) => weights.kind === 'huggingface' || weights.kind === 'url')
      .map((variant) => ({ modelId: id, variant })),
  )
  const cached = await weightCache.listOf(variants.map(({ variant }) => variant))
  return variants
    .flatMap(({ modelId, variant }, index) => {
      const files = cached[index] ?? []
      if (files.length === 0) return []
      return [
        {
          modelId,
          variant,
          bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
          usedAt: new Date(Math.max(...files.map(({ usedAt }) => usedAt.getTime()))),
          isNeeded: files.some(({ isNeeded }) => isNeeded),
        },
      ]
    })
    .toSorted((one, other) => other.usedAt.getTime() - one.usedAt.getTime())
}
