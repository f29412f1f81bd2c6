import type { ModelLora, ModelVariant } from '../../ports/model-variant.ts'
import type { ServingCapacity } from '../../ports/runtime-engine.ts'
import type { Services } from '../../services.ts'
import { findHourlyPrice } from '../metering/instance-prices.ts'
import { selectInstance } from './instance-selection.ts'
import type { PricedOffer, SelectionResult, SelectionRules } from './instance-selection.ts'
import { noMinimums } from './serving-capacity.ts'
import type { CapacityMinimums } from './serving-capacity.ts'

type Deps = Pick<Services, 'runtime' | 'clock' | 'config' | 'prices'>

/** The capacity of an engine that shares a host with others, unless the runtime has its own. */
const defaultSharedCapacity: ServingCapacity = { contextTokens: 8192, parallelSequences: 4 }

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
  const rules = { ...(await readRules(deps, requirements)), adapters }
  return selectInstance(variant, await listPricedOffers(deps), rules, refused)
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

/** This runtime's rules to choose and size engines. Throws if the runtime throws. */
export async function readRules(
  { runtime, config }: Pick<Deps, 'runtime' | 'config'>,
  { instanceType, ...minimums }: Requirements = noRequirements,
): Promise<SelectionRules> {
  const { maxContextTokens, maxSequences } = config.engines
  return {
    engines: runtime.engines,
    ceilings: {
      contextTokens: maxContextTokens,
      parallelSequences: maxSequences ?? Infinity,
      settings,
    },
    shared: runtime.sharedCapacity === null ? defaultSharedCapacity : { ...runtime.sharedCapacity, settings },
    minimums,
    instanceType: instanceType ?? undefined,
    availability: await runtime.readAvailability?.(),
  }
}
