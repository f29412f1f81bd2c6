import { formatMemory } from '../../format-bytes.ts'
import type { InstanceOffer, ModelVariant } from '../../ports/model-runtime.ts'
import { findGpuCaveat, findGpuIncompatibility } from './gpu-requirements.ts'
import { estimateMemory } from './memory-estimate.ts'
import type { MemoryEstimate, ServingCapacity } from './memory-estimate.ts'

/** llama.cpp processes the context of an embedding model in one batch, whose memory grows with the square of its length. */
const maxEmbeddingContext = 2048

export interface PricedOffer extends InstanceOffer {
  /** A decimal string in the main unit of the currency; null when unknown */
  pricePerHour: string | null
}

export interface Selection {
  offer: PricedOffer
  capacity: ServingCapacity
  memoryBytes: number
  /** The memory estimate, the choice, and the offers ruled out, as sentences */
  reason: string
}

/** The result of evaluating one offer. */
export interface ConsideredOffer {
  offer: PricedOffer
  fits: boolean
  /** Why the offer was ruled out, or its usable and needed memory if it fits */
  reason: string
}

/**
 * `considered` lists every offer: first those that fit, in order of preference, then the others. `memoryBytes` is the estimate for
 * the chosen offer, or the lowest estimate if none fits; null without offers.
 */
export type SelectionResult = { considered: ConsideredOffer[]; memoryBytes: number | null } & (
  | { outcome: 'selected'; selection: Selection }
  | { outcome: 'infeasible'; reason: string }
)

/**
 * Chooses the cheapest offer that can run a variant, skipping the instance types in `refused`. Ties go to fewer GPUs, then the
 * higher compute capability, then less memory, then the name. Offers without a known price come last.
 */
export function selectInstance(
  variant: ModelVariant,
  offers: readonly PricedOffer[],
  wanted: ServingCapacity,
  refused: readonly string[],
): SelectionResult {
  const capacity = limitContext(wanted, variant)
  const evaluations = offers
    .toSorted(compareOffers)
    .map((offer) => evaluateOffer(offer, variant, capacity, refused))
  const fitting = evaluations.filter(({ rejection }) => rejection === null)
  const rejected = evaluations.filter(({ rejection }) => rejection !== null)
  const considered = [...fitting, ...rejected].map(toConsideredOffer)
  const [chosen] = fitting
  if (chosen === undefined) {
    const smallest = findSmallestEstimate(rejected)
    const reason = `No instance type can run this model. ${explainInfeasible(rejected, smallest, capacity)}`
    return { outcome: 'infeasible', reason, considered, memoryBytes: smallest?.totalBytes ?? null }
  }
  const { offer, estimate, caveat } = chosen
  const memoryBytes = estimate.totalBytes
  const rank =
    fitting.length === 1
      ? 'the only instance type that fits'
      : `the cheapest of ${fitting.length} instance types that fit`
  const sentences = [
    `Needs about ${describeEstimate(estimate, capacity)}.`,
    `${offer.instanceType} provides ${formatMemory(offer.memoryBytes)} (90 % of its memory) and is ${rank}.`,
    ...(caveat === null ? [] : [`On its GPUs, ${caveat}.`]),
    ...(rejected.length > 0 ? [`Ruled out: ${listRejections(rejected)}.`] : []),
  ]
  return {
    outcome: 'selected',
    selection: { offer, capacity, memoryBytes, reason: sentences.join(' ') },
    considered,
    memoryBytes,
  }
}

function limitContext(
  { contextTokens, parallelSequences }: ServingCapacity,
  variant: ModelVariant,
): ServingCapacity {
  const usesOneBatch = variant.modelType === 'embedding' && variant.format === 'ggufv2'
  const limit = usesOneBatch ? maxEmbeddingContext : contextTokens
  return { contextTokens: Math.min(limit, variant.contextLength), parallelSequences }
}

function compareOffers(one: PricedOffer, other: PricedOffer): number {
  return (
    compareValues(toNumber(one.pricePerHour), toNumber(other.pricePerHour)) ||
    one.gpuCount - other.gpuCount ||
    (other.computeCapability ?? 0) - (one.computeCapability ?? 0) ||
    one.memoryBytes - other.memoryBytes ||
    compareValues(one.instanceType, other.instanceType)
  )
}

/** Subtracting two infinite prices would give NaN. */
function compareValues<Value extends number | string>(one: Value, other: Value): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function toNumber(price: string | null): number {
  return price === null ? Infinity : Number(price)
}

interface Evaluation {
  offer: PricedOffer
  estimate: MemoryEstimate
  /** Why the offer is ruled out, or null */
  rejection: string | null
  /** True when the offer is ruled out for its memory */
  isTooSmall: boolean
  /** A limitation of the offer's GPUs, or null */
  caveat: string | null
}

function evaluateOffer(
  offer: PricedOffer,
  variant: ModelVariant,
  capacity: ServingCapacity,
  refused: readonly string[],
): Evaluation {
  const estimate = estimateMemory(variant, capacity, offer.gpuCount)
  const { format } = variant
  const incompatibility = offer.formats.includes(format)
    ? findGpuIncompatibility(variant, offer)
    : `runs ${offer.formats.join(', ')} models, not ${format}`
  const isTooSmall = incompatibility === null && estimate.totalBytes > offer.memoryBytes
  const rejection = isTooSmall
    ? `${formatMemory(estimate.totalBytes)} needed`
    : (incompatibility ?? (refused.includes(offer.instanceType) ? 'no capacity' : null))
  return { offer, estimate, rejection, isTooSmall, caveat: findGpuCaveat(format, offer) }
}

function toConsideredOffer({ offer, estimate, rejection, isTooSmall, caveat }: Evaluation): ConsideredOffer {
  const memory = `${formatMemory(offer.memoryBytes)} usable, ${formatMemory(estimate.totalBytes)} needed`
  const fit = caveat === null ? memory : `${memory}; ${caveat}`
  return { offer, fits: rejection === null, reason: isTooSmall ? memory : (rejection ?? fit) }
}

function findSmallestEstimate(evaluations: readonly Evaluation[]): MemoryEstimate | null {
  const estimates = evaluations.map(({ estimate }) => estimate)
  return estimates.toSorted((one, other) => one.totalBytes - other.totalBytes)[0] ?? null
}

function explainInfeasible(
  rejected: readonly Evaluation[],
  smallest: MemoryEstimate | null,
  capacity: ServingCapacity,
): string {
  if (smallest === null) return 'The compute backend offers no instance types.'
  return `It needs about ${describeEstimate(smallest, capacity)}. Ruled out: ${listRejections(rejected)}.`
}

/** Groups instance types that were ruled out for the same reason: `t4-x1 (13.5 GiB), l4-x1 (20.3 GiB): 34.9 GiB needed`. */
function listRejections(rejected: readonly Evaluation[]): string {
  const groups = Map.groupBy(rejected, ({ rejection }) => rejection ?? '')
  return [...groups]
    .map(([rejection, members]) => `${members.map(nameWithMemory).join(', ')}: ${rejection}`)
    .join('; ')
}

function nameWithMemory({ offer, isTooSmall }: Evaluation): string {
  return isTooSmall ? `${offer.instanceType} (${formatMemory(offer.memoryBytes)})` : offer.instanceType
}

function describeEstimate(estimate: MemoryEstimate, capacity: ServingCapacity): string {
  const { contextTokens, parallelSequences } = capacity
  return (
    `${formatMemory(estimate.totalBytes)} (weights ${formatMemory(estimate.weightBytes)} + KV cache ` +
    `${formatMemory(estimate.cacheBytes)} for ${parallelSequences} × ${contextTokens} tokens + overhead ` +
    `${formatMemory(estimate.overheadBytes)})`
  )
}
