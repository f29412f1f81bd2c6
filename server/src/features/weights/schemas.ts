import { z } from 'zod'
import { count, timestamp } from '../../http/schemas.ts'
import type { VariantWeights } from './list-weights.ts'

const weightsItem = z
  .object({
    model_id: z.string().describe('Id of the model in the catalog'),
    model_name: z.string().describe('Name of the model'),
    model_format: z.string().describe('Format of the weights'),
    model_size_in_billions: z.number().describe('Parameters in billions'),
    quantization: z.string().describe('Quantization of the weights'),
    bytes: count.describe('Size on the disk; smaller than the weights while they are downloaded'),
    last_used_at: timestamp.describe('When a deployment used them last'),
    in_use: z.boolean().describe('true if a deployment needs them; the others may be deleted to make room'),
  })
  .meta({ id: 'CachedWeights', description: 'The weights of a variant on the disk of the server' })

export const weightsBody = z
  .object({ items: z.array(weightsItem).describe('The most recently used first') })
  .meta({ id: 'WeightCache', description: 'The weights that need no download' })

export function toWeightsItem({
  modelId,
  variant,
  bytes,
  usedAt,
  isNeeded,
}: VariantWeights): z.infer<typeof weightsItem> {
  return {
    model_id: modelId,
    model_name: variant.modelName,
    model_format: variant.format,
    model_size_in_billions: variant.sizeInBillions,
    quantization: variant.quantization,
    bytes,
    last_used_at: usedAt.toISOString(),
    in_use: isNeeded,
  }
}
