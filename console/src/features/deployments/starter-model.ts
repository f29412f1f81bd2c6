import { useQuery } from '@tanstack/react-query'
import type { DeployableModel, Placement } from '../../../../server/src/contract.ts'
import { modelsQuery, placementsQuery } from '../../domain/models/queries.ts'
import type { VariantChoice } from '../../domain/models/variants.ts'

/** A model to begin with, and which variant of it. */
export interface StarterModel {
  model: DeployableModel
  initial: Partial<VariantChoice>
}

/**
 * The model that a first deployment is best made of: the smallest that fits of those that come with the server, which need no
 * download, else of all chat models. Undefined while it is looked for and where nothing fits.
 */
export function useStarterModel(): StarterModel | undefined {
  const { data: models } = useQuery(modelsQuery)
  const { data: placements, isError } = useQuery(placementsQuery)
  if (!models) return undefined
  const chat = models.filter(({ model_type }) => model_type === 'LLM')
  const bundled = chat.filter(({ tags }) => tags.includes('bundled'))
  if (placements) return findSmallest(bundled, placements.items) ?? findSmallest(chat, placements.items)
  // The dialog says what is wrong with the hardware.
  return isError && bundled[0] ? { model: bundled[0], initial: {} } : undefined
}

function findSmallest(models: DeployableModel[], placements: Placement[]): StarterModel | undefined {
  const byId = new Map(models.map((model) => [model.id, model]))
  const [smallest] = placements
    .filter(({ feasible, model_id }) => feasible && byId.has(model_id))
    .toSorted((one, other) => (one.memory_bytes ?? Infinity) - (other.memory_bytes ?? Infinity))
  const model = smallest && byId.get(smallest.model_id)
  if (!model) return undefined
  const { model_format, model_size_in_billions, quantization } = smallest
  return { model, initial: { model_format, model_size_in_billions, quantization } }
}
