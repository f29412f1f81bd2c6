import type { Application } from '../../application.ts'
import type { ModelRuntime, ModelVariant } from '../../ports/model-runtime.ts'
import { findHourlyPrice } from '../metering/instance-prices.ts'
import { selectInstance } from './instance-selection.ts'
import type { SelectionResult } from './instance-selection.ts'
import type { Serving } from './memory-estimate.ts'

/** What a model is served with on a runtime made for GPUs. */
const gpuServing: Serving = { contextTokens: 8192, parallelSequences: 4 }

/**
 * Picks the instance that a variant would be deployed on now, of what the runtime has and at today's prices; `refused` names
 * instance types that had no capacity. Throws what the runtime throws.
 */
export async function chooseInstance(
  { runtime, prices, clock, config }: Pick<Application, 'runtime' | 'prices' | 'clock' | 'config'>,
  variant: ModelVariant,
  refused: readonly string[],
): Promise<SelectionResult> {
  const now = clock()
  const offers = await runtime.listOffers()
  const priced = offers.map((offer) => ({ ...offer, pricePerHour: findHourlyPrice(prices, offer, now) }))
  return selectInstance(variant, priced, chooseServing(runtime, config), refused)
}

function chooseServing({ name }: ModelRuntime, { localEngine }: Application['config']): Serving {
  return name === 'local' ? localEngine : gpuServing
}
