import type { EngineSizing } from '../../ports/runtime-engine.ts'
import { findEngine } from '../catalog/engine-choice.ts'
import { nameFormat } from '../../base/format-names.ts'
import { findVariant, listMatchingVariants } from '../catalog/model.ts'
import type { CatalogModel, CatalogVariant, VariantChoice } from '../catalog/model.ts'
import { rankFormat } from './gpu-requirements.ts'
import { selectInstance } from './instance-selection.ts'
import type { Selection } from './instance-selection.ts'
import { compareOffers, isSharedOffer, nameOffer } from './offers.ts'
import type { PricedOffer, SelectionRules } from './offers.ts'

/** The variant that a request gets. */
export interface ChosenVariant {
  variant: CatalogVariant
  /** Why Berth chose it, as a sentence; null if the request or the catalog decided */
  reason: string | null
}

/** A variant that fits on dedicated GPUs. */
interface Candidate {
  variant: CatalogVariant
  offer: PricedOffer
  bitsPerWeight: number
}

/** On GPUs, engines that share their cache between requests serve several times as many. */
const preferredSizings: readonly EngineSizing[] = ['shared-cache', 'per-slot']

/** Weights of so many bits lose practically nothing. */
const losslessBits = 8

/**
 * Chooses a variant for a request. Throws RangeError without any. On dedicated GPUs, it is one for an engine
 * that shares its cache between requests, on the cheapest instance type that runs one, in the largest size
 * that fits. Elsewhere, and if nothing fits, the catalog's default decides.
 */
export function chooseVariant(
  model: CatalogModel,
  choice: VariantChoice,
  offers: readonly PricedOffer[],
  rules: SelectionRules,
): ChosenVariant {
  const matching = listMatchingVariants(model, choice)
  const usual = findVariant(model, choice)
  if (usual === null) throw new RangeError(`${model.id} has no such variant`)
  const isOpen = matching.length > 1 && offers.some((offer) => !isSharedOffer(offer))
  const best = isOpen ? findBest(matching, offers, rules) : undefined
  if (best !== undefined) return { variant: best.variant, reason: explainChoice(best, matching) }
  const fits = (variant: CatalogVariant) => selectInstance(variant, offers, rules, []).outcome === 'selected'
  const isElsewhere = rules.instanceType !== undefined && !fits(usual)
  return { variant: (isElsewhere ? matching.find(fits) : undefined) ?? usual, reason: null }
}

/** The best variant for the first kind of engine with one that fits. */
function findBest(
  matching: readonly CatalogVariant[],
  offers: readonly PricedOffer[],
  rules: SelectionRules,
): Candidate | undefined {
  for (const sizing of preferredSizings) {
    const candidates = matching.flatMap((variant) => {
      const fitting = offers.filter(({ runtime }) => findEngine(variant, runtime.engines)?.sizing === sizing)
      return toCandidate(variant, fitting, rules)
    })
    if (candidates.length > 0) return candidates.toSorted(compareCandidates)[0]
  }
  return undefined
}

/** The variant as a candidate, or nothing if it doesn't fit on dedicated GPUs. */
function toCandidate(
  variant: CatalogVariant,
  offers: readonly PricedOffer[],
  rules: SelectionRules,
): Candidate[] {
  const result = selectInstance(variant, offers, rules, [])
  if (result.outcome !== 'selected') return []
  const { offer, sizing } = result.selection
  if (isSharedOffer(offer)) return []
  return [{ variant, offer, bitsPerWeight: countBits(variant, sizing) }]
}

function countBits(
  { architecture, sizeInBillions }: CatalogVariant,
  { estimate }: Selection['sizing'],
): number {
  return (estimate.weightBytes * 8) / (architecture?.parameters ?? sizeInBillions * 1e9)
}

/** Sizes before precision: a larger model with 4 bits answers better than a smaller one with 16. */
function compareCandidates(one: Candidate, other: Candidate): number {
  return (
    compareOffers(one.offer, other.offer) ||
    other.variant.sizeInBillions - one.variant.sizeInBillions ||
    Number(isLossy(one)) - Number(isLossy(other)) ||
    rankFormat(one.variant.format, one.offer) - rankFormat(other.variant.format, other.offer) ||
    Math.abs(one.bitsPerWeight - losslessBits) - Math.abs(other.bitsPerWeight - losslessBits)
  )
}

function isLossy({ bitsPerWeight }: Candidate): boolean {
  return bitsPerWeight < losslessBits
}

function explainChoice({ variant, offer }: Candidate, matching: readonly CatalogVariant[]): string {
  const { sizeInBillions, format, quantization } = variant
  const isNamed = quantization !== 'none' && quantization !== format
  const name = [`${sizeInBillions}B`, nameFormat(format), ...(isNamed ? [quantization] : [])].join(' ')
  const title = findEngine(variant, offer.runtime.engines)?.title ?? format
  const hasSizes = matching.some((other) => other.sizeInBillions !== sizeInBillions)
  return hasSizes
    ? `Berth chose ${name}, the largest size that ${title} can serve on ${nameOffer(offer)}.`
    : `Berth chose ${name}, the best format for ${title} on ${nameOffer(offer)}.`
}
