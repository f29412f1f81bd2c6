import type { ModelLora, ModelVariant } from '../../ports/model-variant.ts'
import type { Services } from '../../services.ts'
import { findHourlyPrice } from '../metering/instance-prices.ts'
import { selectInstance } from './instance-selection.ts'
import type { PricedOffer, SelectionResult, SelectionRules } from './instance-selection.ts'
import { noMinimums } from './serving-capacity.ts'
import type { CapacityMinimums } from './serving-capacity.ts'

type Deps = Pick<Services, 'runtimes' | 'clock' | 'config' | 'prices'>

const settings = { context: 'ENGINE_MAX_CONTEXT', sequences: 'ENGINE_MAX_SEQUENCES' }

/** What the owner of a deployment asks of its instances. */
export interface Requirements extends CapacityMinimums {
  /** The only instance type that may serve; null for any */
  instanceType: string | null
}

export const noRequirements: Requirements = { ...noMinimums, instanceType: null }

/** Chooses a variant's type from current offers without `refused` ones. Throws if the runtime throws. */
export async function chooseInstance(
  deps: Deps,
  variant: ModelVariant,
  requirements: Requirements,
  refused: readonly string[],
  adapters: readonly ModelLora[],
): Promise<SelectionResult> {
  const rules = { ...toRules(deps, requirements), adapters }
  return selectInstance(variant, await listPricedOffers(deps), rules, refused)
}

/** The offers of all runtimes with their current prices. Throws if a runtime throws. */
export async function listPricedOffers({
  runtimes,
  prices,
  clock,
}: Pick<Deps, 'runtimes' | 'prices' | 'clock'>): Promise<PricedOffer[]> {
  const now = clock()
  const offers = await runtimes.listOffers()
  return offers.map((offer) => ({ ...offer, pricePerHour: findHourlyPrice(prices, offer, now) }))
}

/** The rules to choose and size engines. */
export function toRules(
  { config }: Pick<Deps, 'config'>,
  { instanceType, ...minimums }: Requirements = noRequirements,
): SelectionRules {
  const { maxContextTokens, maxSequences } = config.engines
  return {
    ceilings: {
      contextTokens: maxContextTokens,
      parallelSequences: maxSequences ?? Infinity,
      settings,
    },
    minimums,
    instanceType: instanceType ?? undefined,
  }
}
