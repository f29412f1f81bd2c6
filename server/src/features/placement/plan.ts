import type { ModelVariant } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import type { VariantChoice } from '../catalog/model.ts'
import { findRequestedVariant, listDeployableModels } from '../catalog/find-variant.ts'
import { findAlternatives } from './alternatives.ts'
import type { Alternatives } from './alternatives.ts'
import { listPricedOffers, listRules } from './choose-instance.ts'
import { selectInstance } from './instance-selection.ts'
import type { SelectionResult } from './instance-selection.ts'
import { queryRuntime } from './query-runtime.ts'
import type { CapacityMinimums } from './serving-capacity.ts'

type Deps = Pick<Services, 'db' | 'runtime' | 'clock' | 'config' | 'log' | 'prices'>

export interface DeploymentPlan {
  result: SelectionResult
  alternatives: Alternatives
}

/** Returns the instance type that a deployment would get, what it would serve there, and why, without creating it. */
export async function planDeployment(
  deps: Deps,
  input: { modelName: string } & VariantChoice,
  minimums: CapacityMinimums,
): Promise<DeploymentPlan> {
  const variant = await findRequestedVariant(deps, input)
  const offers = await queryRuntime(deps, 'instance types', () => listPricedOffers(deps))
  const rules = listRules(deps, minimums)
  const result = selectInstance(variant, offers, rules, [])
  return { result, alternatives: findAlternatives(variant, result, rules) }
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
  const rules = listRules(deps)
  return models.flatMap(({ id, variants }) =>
    variants.map((variant) => ({
      modelId: id,
      variant,
      result: selectInstance(variant, offers, rules, []),
    })),
  )
}
