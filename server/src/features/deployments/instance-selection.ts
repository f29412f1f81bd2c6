import { formatMemory } from '../../format-bytes.ts'
import type { InstanceOffer, ModelVariant } from '../../ports/model-runtime.ts'
import { findGpuCaveat, findGpuObjection } from './gpu-requirements.ts'
import { estimateMemory } from './memory-estimate.ts'
import type { MemoryEstimate, Serving } from './memory-estimate.ts'

/** llama.cpp reads the whole context of an embedding model in one batch, whose memory grows with the square of it. */
const embeddingContextTokens = 2048

/** An offer with what it costs: an hour in the currency's main unit, a decimal string; null: not known. */
export interface PricedOffer extends InstanceOffer {
  pricePerHour: string | null
}

export interface Selection {
  offer: PricedOffer
  serving: Serving
  memoryBytes: number
  /** The memory sum, the choice and what was passed over, in words */
  reason: string
}

/** What was found of one offer. */
export interface Consideration {
  offer: PricedOffer
  fits: boolean
  /** Why it can't be taken; of one that fits, its memory and what is needed */
  reason: string
}

/**
 * `considered` has every offer, the best first: those that fit as they would be tried, then the others. `memoryBytes` is what it
 * needs on the chosen one, or at least on any; null where there are no offers.
 */
export type SelectionResult = { considered: Consideration[]; memoryBytes: number | null } & (
  | { outcome: 'selected'; selection: Selection }
  | { outcome: 'infeasible'; reason: string }
)

/**
 * Picks the cheapest offer that can run a variant, passing over the instance types that `refused` names. Of equal prices the one
 * with fewer GPUs is taken, then the newer GPU by compute capability, then the one with less memory, then the first by name. An
 * offer whose price is not known comes after all others.
 */
export function selectInstance(
  variant: ModelVariant,
  offers: readonly PricedOffer[],
  wanted: Serving,
  refused: readonly string[],
): SelectionResult {
  const serving = limitContext(wanted, variant)
  const judged = offers.toSorted(compareOffers).map((offer) => judge(offer, variant, serving, refused))
  const fitting = judged.filter(({ objection }) => objection === null)
  const others = judged.filter(({ objection }) => objection !== null)
  const considered = [...fitting, ...others].map(toConsideration)
  const [chosen] = fitting
  if (chosen === undefined) {
    const smallest = findSmallest(others)
    const reason = `No instance type can run this. ${explainNone(others, smallest, serving)}`
    return { outcome: 'infeasible', reason, considered, memoryBytes: smallest?.totalBytes ?? null }
  }
  const { offer, estimate, caveat } = chosen
  const memoryBytes = estimate.totalBytes
  const sentences = [
    `Needs about ${describeEstimate(estimate, serving)}; ` +
      `${offer.instanceType} offers ${formatMemory(offer.memoryBytes)} at 90 %; ` +
      (fitting.length === 1 ? 'the only one that fits' : `the cheapest of ${fitting.length} that fit`) +
      (caveat === null ? '.' : `; ${caveat} on it.`),
    ...(others.length > 0 ? [`Passed over: ${listObjections(others)}.`] : []),
  ]
  return {
    outcome: 'selected',
    selection: { offer, serving, memoryBytes, reason: sentences.join(' ') },
    considered,
    memoryBytes,
  }
}

function limitContext({ contextTokens, parallelSequences }: Serving, variant: ModelVariant): Serving {
  const inOneBatch = variant.modelType === 'embedding' && variant.format === 'ggufv2'
  const longest = inOneBatch ? embeddingContextTokens : contextTokens
  return { contextTokens: Math.min(longest, variant.contextLength), parallelSequences }
}

function compareOffers(one: PricedOffer, other: PricedOffer): number {
  return (
    compareNumbers(toNumber(one.pricePerHour), toNumber(other.pricePerHour)) ||
    one.gpuCount - other.gpuCount ||
    (other.computeCapability ?? 0) - (one.computeCapability ?? 0) ||
    one.memoryBytes - other.memoryBytes ||
    compareNumbers(one.instanceType, other.instanceType)
  )
}

/** Unlike a difference, this is right for two infinities. */
function compareNumbers<Value extends number | string>(one: Value, other: Value): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function toNumber(price: string | null): number {
  return price === null ? Infinity : Number(price)
}

interface Judgement {
  offer: PricedOffer
  estimate: MemoryEstimate
  /** Why it can't be taken, or null */
  objection: string | null
  /** True when the objection is to its memory */
  isTooSmall: boolean
  /** What is less than perfect about it, or null */
  caveat: string | null
}

function judge(
  offer: PricedOffer,
  variant: ModelVariant,
  serving: Serving,
  refused: readonly string[],
): Judgement {
  const estimate = estimateMemory(variant, serving, offer.gpuCount)
  const { format } = variant
  const unfit = offer.formats.includes(format)
    ? findGpuObjection(variant, offer)
    : `it runs ${offer.formats.join(', ')}, not ${format}`
  const isTooSmall = unfit === null && estimate.totalBytes > offer.memoryBytes
  const objection = isTooSmall
    ? `${formatMemory(estimate.totalBytes)} needed`
    : (unfit ?? (refused.includes(offer.instanceType) ? 'no capacity' : null))
  return { offer, estimate, objection, isTooSmall, caveat: findGpuCaveat(format, offer) }
}

function toConsideration({ offer, estimate, objection, isTooSmall, caveat }: Judgement): Consideration {
  const memory = `${formatMemory(offer.memoryBytes)} usable, ${formatMemory(estimate.totalBytes)} needed`
  const fit = caveat === null ? memory : `${memory}; ${caveat}`
  return { offer, fits: objection === null, reason: isTooSmall ? memory : (objection ?? fit) }
}

function findSmallest(judged: readonly Judgement[]): MemoryEstimate | null {
  const estimates = judged.map(({ estimate }) => estimate)
  return estimates.toSorted((one, other) => one.totalBytes - other.totalBytes)[0] ?? null
}

function explainNone(
  judged: readonly Judgement[],
  smallest: MemoryEstimate | null,
  serving: Serving,
): string {
  if (smallest === null) return 'The runtime offers none.'
  return `It needs about ${describeEstimate(smallest, serving)}. Passed over: ${listObjections(judged)}.`
}

/** Each instance type with its objection, those with the same one together; of one too small, what it has. */
function listObjections(judged: readonly Judgement[]): string {
  const groups = Map.groupBy(judged, ({ objection }) => objection ?? '')
  return [...groups]
    .map(([objection, members]) => `${members.map(nameWithMemory).join(', ')}: ${objection}`)
    .join('; ')
}

function nameWithMemory({ offer, isTooSmall }: Judgement): string {
  return isTooSmall ? `${offer.instanceType} (${formatMemory(offer.memoryBytes)})` : offer.instanceType
}

function describeEstimate(estimate: MemoryEstimate, serving: Serving): string {
  const { contextTokens, parallelSequences } = serving
  return (
    `${formatMemory(estimate.totalBytes)} (weights ${formatMemory(estimate.weightBytes)} + KV cache ` +
    `${formatMemory(estimate.cacheBytes)} for ${parallelSequences} × ${contextTokens} tokens + overhead ` +
    `${formatMemory(estimate.overheadBytes)})`
  )
}
