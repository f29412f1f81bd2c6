import type { ModelVariant } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import type { VariantChoice } from '../catalog/catalog-file.ts'
import { listDeployableModels } from '../catalog/find-variant.ts'
import type { Price } from '../metering/prices.ts'
import { chooseCapacity, chooseInstance, listPricedOffers } from './choose-instance.ts'
import { selectInstance } from './instance-selection.ts'
import type { SelectionResult } from './instance-selection.ts'
import { queryRuntime } from './query-runtime.ts'
import { findRequestedVariant } from './request.ts'

type Deps = Pick<Services, 'db' | 'runtime' | 'clock' | 'config' | 'log'> & { prices: readonly Price[] }

/** Returns the instance type that a deployment would get, and why, without creating it. */
export async function planDeployment(
  deps: Deps,
  input: { modelName: string } & VariantChoice,
): Promise<SelectionResult> {
  const variant = await findRequestedVariant(deps, input)
  return queryRuntime(deps, 'instance types', () => chooseInstance(deps, variant, []))
}

/** A catalog variant with the instance type that it would get. */
export interface Placement {
  modelId: string
  variant: ModelVariant
  result: SelectionResult
}

/** Plans every variant of every enabled model, in catalog order, with one query for the runtime's offers. */
export async function listPlacements(deps: Deps): Promise<Placement[]> {
  const models = await listDeployableModels(deps)
  const offers = await queryRuntime(deps, 'instance types', () => listPricedOffers(deps))
  const capacity = chooseCapacity(deps)
  return models.flatMap(({ id, variants }) =>
    variants.map((variant) => ({
      modelId: id,
      variant,
      result: selectInstance(variant, offers, capacity, []),
    })),
  )
}
