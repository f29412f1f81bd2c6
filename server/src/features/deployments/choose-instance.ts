import type { ModelVariant } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import { findHourlyPrice } from '../metering/instance-prices.ts'
import type { Price } from '../metering/prices.ts'
import { selectInstance } from './instance-selection.ts'
import type { PricedOffer, SelectionResult } from './instance-selection.ts'
import type { ServingCapacity } from './memory-estimate.ts'

type Deps = Pick<Services, 'runtime' | 'clock' | 'config'> & { prices: readonly Price[] }

/** The capacity of an engine on GPUs. */
const gpuCapacity: ServingCapacity = { contextTokens: 8192, parallelSequences: 4 }

/**
 * Chooses the instance type for a variant from the runtime's current offers and prices. `refused` names instance types that
 * lacked capacity. Throws if the runtime throws.
 */
export async function chooseInstance(
  deps: Deps,
  variant: ModelVariant,
  refused: readonly string[],
): Promise<SelectionResult> {
  return selectInstance(variant, await listPricedOffers(deps), chooseCapacity(deps), refused)
}

/** The runtime's offers with their current prices. Throws if the runtime throws. */
export async function listPricedOffers({
  runtime,
  prices,
  clock,
}: Pick<Deps, 'runtime' | 'prices' | 'clock'>): Promise<PricedOffer[]> {
  const now = clock()
  const offers = await runtime.listOffers()
  return offers.map((offer) => ({ ...offer, pricePerHour: findHourlyPrice(prices, offer, now) }))
}

/** The capacity that engines on this runtime are started with. */
export function chooseCapacity({ runtime, config }: Pick<Deps, 'runtime' | 'config'>): ServingCapacity {
  return runtime.name === 'local' ? config.localEngine : gpuCapacity
}
