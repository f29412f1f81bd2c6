import type { ModelVariant } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import { findHourlyPrice } from '../metering/instance-prices.ts'
import type { Price } from '../metering/prices.ts'
import { selectInstance } from './instance-selection.ts'
import type { PricedOffer, SelectionResult } from './instance-selection.ts'
import type { Serving } from './memory-estimate.ts'

type World = Pick<Services, 'runtime' | 'clock' | 'config'> & { prices: readonly Price[] }

/** What a model is served with on a runtime made for GPUs. */
const gpuServing: Serving = { contextTokens: 8192, parallelSequences: 4 }

/**
 * Picks the instance that a variant would be deployed on now, of what the runtime has and at today's prices; `refused` names
 * instance types that had no capacity. Throws what the runtime throws.
 */
export async function chooseInstance(
  world: World,
  variant: ModelVariant,
  refused: readonly string[],
): Promise<SelectionResult> {
  return selectInstance(variant, await listPricedOffers(world), chooseServing(world), refused)
}

/** What the runtime has, at today's prices. Throws what the runtime throws. */
export async function listPricedOffers({
  runtime,
  prices,
  clock,
}: Pick<World, 'runtime' | 'prices' | 'clock'>): Promise<PricedOffer[]> {
  const now = clock()
  const offers = await runtime.listOffers()
  return offers.map((offer) => ({ ...offer, pricePerHour: findHourlyPrice(prices, offer, now) }))
}

export function chooseServing({ runtime, config }: Pick<World, 'runtime' | 'config'>): Serving {
  return runtime.name === 'local' ? config.localEngine : gpuServing
}
