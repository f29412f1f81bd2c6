import type { InstanceOffer, ModelVariant } from '../../ports/model-runtime.ts'
import { estimateMemory } from './memory-estimate.ts'
import type { MemoryEstimate, Serving } from './memory-estimate.ts'

/** An embedding model reads its whole context in one batch, whose memory grows with the square of it. */
const embeddingContextTokens = 2048

export interface Selection {
  offer: InstanceOffer
  serving: Serving
  memoryBytes: number
  /** The memory sum, the choice and what was passed over, in words */
  reason: string
}

export type SelectionResult =
  | { outcome: 'selected'; selection: Selection }
  | { outcome: 'infeasible'; reason: string }

/** Picks the smallest offer that can run a variant, passing over the instance types that `refused` names. */
export function selectInstance(
  variant: ModelVariant,
  offers: readonly InstanceOffer[],
  wanted: Serving,
  refused: readonly string[],
): SelectionResult {
  const longest = variant.modelType === 'embedding' ? embeddingContextTokens : wanted.contextTokens
  const serving = { ...wanted, contextTokens: Math.min(longest, variant.contextLength) }
  const judged = offers
    .toSorted((one, other) => one.memoryBytes - other.memoryBytes || one.gpuCount - other.gpuCount)
    .map((offer) => judge(offer, variant, serving, refused))
  const passedOver = judged.flatMap(({ offer, objection }) =>
    objection === null ? [] : [`${offer.instanceType}: ${objection}`],
  )
  const chosen = judged.find(({ objection }) => objection === null)
  if (chosen === undefined) {
    return {
      outcome: 'infeasible',
      reason: `No instance type can run this. ${passedOver.join('; ') || 'The runtime offers none'}.`,
    }
  }
  const { offer, estimate } = chosen
  const usable = `${offer.instanceType} offers ${formatBytes(offer.memoryBytes)}`
  const others = passedOver.length > 0 ? ` Passed over: ${passedOver.join('; ')}.` : ''
  return {
    outcome: 'selected',
    selection: {
      offer,
      serving,
      memoryBytes: estimate.totalBytes,
      reason: `Needs about ${describeEstimate(estimate, serving)}; ${usable}.${others}`,
    },
  }
}

interface Judgement {
  offer: InstanceOffer
  estimate: MemoryEstimate
  /** Why it can't be taken, or null */
  objection: string | null
}

function judge(
  offer: InstanceOffer,
  variant: ModelVariant,
  serving: Serving,
  refused: readonly string[],
): Judgement {
  const estimate = estimateMemory(variant, serving, offer.gpuCount)
  const objection = !offer.formats.includes(variant.format)
    ? `it runs ${offer.formats.join(', ')}, not ${variant.format}`
    : estimate.totalBytes > offer.memoryBytes
      ? `${formatBytes(offer.memoryBytes)} usable, ${formatBytes(estimate.totalBytes)} needed`
      : refused.includes(offer.instanceType)
        ? 'no capacity'
        : null
  return { offer, estimate, objection }
}

function describeEstimate(estimate: MemoryEstimate, serving: Serving): string {
  const { contextTokens, parallelSequences } = serving
  return (
    `${formatBytes(estimate.totalBytes)} (weights ${formatBytes(estimate.weightBytes)} + KV cache ` +
    `${formatBytes(estimate.cacheBytes)} for ${parallelSequences} × ${contextTokens} tokens + overhead ` +
    `${formatBytes(estimate.overheadBytes)})`
  )
}

function formatBytes(bytes: number): string {
  const gib = bytes / 2 ** 30
  return gib >= 1 ? `${gib.toFixed(1)} GiB` : `${Math.max(1, Math.round(bytes / 2 ** 20))} MiB`
}
