import type { VariantChoice } from '../catalog/catalog-file.ts'
import type { ModelVariant } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import { listDeployableModels } from '../catalog/find-variant.ts'
import type { Price } from '../metering/prices.ts'
import { askRuntime } from './ask-runtime.ts'
import { chooseInstance, chooseServing, listPricedOffers } from './choose-instance.ts'
import { selectInstance } from './instance-selection.ts'
import type { SelectionResult } from './instance-selection.ts'
import { findRequestedVariant } from './request.ts'

type World = Pick<Services, 'db' | 'runtime' | 'clock' | 'config' | 'log'> & { prices: readonly Price[] }

/** Says what a deployment would be given and why, creating nothing. */
export async function planDeployment(
  world: World,
  input: { modelName: string } & VariantChoice,
): Promise<SelectionResult> {
  const variant = await findRequestedVariant(world, input)
  return askRuntime(world, 'what it offers', () => chooseInstance(world, variant, []))
}

/** A variant of the catalog with what it would be given. */
export interface Placement {
  modelId: string
  variant: ModelVariant
  result: SelectionResult
}

/** The same of every variant of every enabled model in the catalog's order, by one look at what the runtime has. */
export async function listPlacements(world: World): Promise<Placement[]> {
  const models = await listDeployableModels(world)
  const offers = await askRuntime(world, 'what it offers', () => listPricedOffers(world))
  const serving = chooseServing(world)
  return models.flatMap(({ id, variants }) =>
    variants.map((variant) => ({
      modelId: id,
      variant,
      result: selectInstance(variant, offers, serving, []),
    })),
  )
}
