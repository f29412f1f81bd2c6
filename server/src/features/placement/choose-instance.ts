import { ApplicationError } from '../../base/errors.ts'
import type { ModelLora, ModelVariant } from '../../ports/model-variant.ts'
import type { Services } from '../../services.ts'
import { findHourlyPrice } from '../metering/instance-prices.ts'
import { selectInstance } from './instance-selection.ts'
import type { SelectionResult } from './instance-selection.ts'
import type { EngineNeeds, PricedOffer, RefusedOffer, SelectionRules } from './offers.ts'
import { noMinimums } from './serving-capacity.ts'
import type { CapacityMinimums } from './serving-capacity.ts'

type Deps = Pick<Services, 'runtimes' | 'clock' | 'config' | 'prices'>

const settings = { context: 'ENGINE_MAX_CONTEXT', sequences: 'ENGINE_MAX_SEQUENCES' }

/** What the owner of a deployment asks of its instances. */
export interface Requirements extends CapacityMinimums {
  /** The only instance type that may serve; null for any */
  instanceType: string | null
  /** Omitted for nothing */
  needs?: EngineNeeds | undefined
}

export const noNeeds: EngineNeeds = { options: {}, version: null, separatesCache: false }

export const noRequirements: Requirements = { ...noMinimums, instanceType: null }

/** Chooses a variant's type from current offers without `refused` ones. Throws if the runtime throws. */
export async function chooseInstance(
  deps: Deps,
  variant: ModelVariant,
  requirements: Requirements,
  refused: readonly RefusedOffer[],
  adapters: readonly ModelLora[],
): Promise<SelectionResult> {
  const { offers, away } = await listPricedOffers(deps)
  const rules = { ...toRules(deps, requirements), loras: adapters, away }
  return selectInstance(variant, offers, rules, refused)
}

/** The offers with their current prices. Throws if no runtime responds. */
export async function listPricedOffers({
  runtimes,
  prices,
  clock,
}: Pick<Deps, 'runtimes' | 'prices' | 'clock'>): Promise<{ offers: PricedOffer[]; away: readonly string[] }> {
  const now = clock()
  const { offers, away } = await runtimes.listOffers()
  const priced = offers.map((offer) => ({ ...offer, pricePerHour: findHourlyPrice(prices, offer, now) }))
  return { offers: priced, away }
}

/** Throws `runtime_unavailable` if a runtime that doesn't respond might have an instance type that fits. */
export function requireAnswers(result: SelectionResult): SelectionResult {
  if (result.outcome === 'selected' || (result.away ?? []).length === 0) return result
  throw new ApplicationError('runtime_unavailable', result.reason, 5)
}

/** The rules to choose and size engines. */
export function toRules(
  { config }: Pick<Deps, 'config'>,
  { instanceType, needs, ...minimums }: Requirements = noRequirements,
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
    needs,
  }
}
