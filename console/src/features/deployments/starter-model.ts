import { useQuery } from '@tanstack/react-query'
import type { DeployableModel, Placement } from '../../contract.ts'
import { modelsQuery, placementsQuery } from '../../domain/models/queries.ts'
import type { Variant } from '../../domain/models/variants.ts'

/** A model and variant for the first deployment. */
export interface StarterModel {
  model: DeployableModel
  initial: Partial<Variant>
}

/** Suggests the smallest fitting chat model, bundled if possible. Undefined while loading or without one. */
export function useStarterModel(): StarterModel | undefined {
  const { data: models } = useQuery(modelsQuery)
  const { data: placements, isError } = useQuery(placementsQuery)
  if (!models) return undefined
  const chat = models.filter(({ model_type }) => model_type === 'LLM')
  const bundled = chat.filter(({ tags }) => tags.includes('bundled'))
  if (placements) return findSmallest(bundled, placements.items) ?? findSmallest(chat, placements.items)
  // The dialog shows why placements are unavailable.
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
