import type { ModelVariant } from '../../ports/model-variant.ts'
import type { SelectionResult } from './instance-selection.ts'
import { isSharedOffer } from './offers.ts'
import type { PricedOffer, SelectionRules } from './offers.ts'
import { sizeReducedEngine } from './serving-capacity.ts'
import type { Sizing } from './serving-capacity.ts'
import { sizeOffer, toServedModel } from './size-offer.ts'

/** What a model would get on another instance type. */
export interface Alternative {
  offer: PricedOffer
  sizing: Sizing
}

export interface Alternatives {
  /** The next cheaper type, on which the model gets less than Berth would choose; null without any */
  cheaper: Alternative | null
  /** The next more expensive type with more capacity; null without any */
  larger: Alternative | null
}

/** The alternatives to a choice by price. Omits offers without a known price. */
export function findAlternatives(
  variant: ModelVariant,
  result: SelectionResult,
  rules: SelectionRules,
): Alternatives {
  if (result.outcome !== 'selected') return { cheaper: null, larger: null }
  const { offer: chosen, sizing } = result.selection
  const priced = result.considered.filter(({ offer }) => priceOf(offer) !== null)
  const below = priced.filter(
    ({ offer, isTooSmall }) => isTooSmall && priceOf(offer)! < (priceOf(chosen) ?? 0),
  )
  const above = priced.filter(({ offer, fits }) => fits && priceOf(offer)! >= (priceOf(chosen) ?? Infinity))
  return {
    cheaper: findFirst(below.toReversed(), (offer) =>
      isSharedOffer(offer)
        ? null
        : sizeReducedEngine(toServedModel(variant, offer, rules), offer, rules.ceilings),
    ),
    larger: findFirst(above, (offer) => {
      const other = sizeOffer(variant, offer, rules)
      return other !== null && isLarger(other, sizing) ? other : null
    }),
  }
}

/** `offers` are in order of price, because the selection prefers cheaper ones. */
function findFirst(
  offers: readonly { offer: PricedOffer }[],
  size: (offer: PricedOffer) => Sizing | null,
): Alternative | null {
  for (const { offer } of offers) {
    const sizing = size(offer)
    if (sizing !== null) return { offer, sizing }
  }
  return null
}

/** True if `one` has more context, or the same and more sequences. */
function isLarger({ capacity: one }: Sizing, { capacity: other }: Sizing): boolean {
  return one.contextTokens === other.contextTokens
    ? one.parallelSequences > other.parallelSequences
    : one.contextTokens > other.contextTokens
}

function priceOf({ pricePerHour }: PricedOffer): number | null {
  return pricePerHour === null ? null : Number(pricePerHour)
}
