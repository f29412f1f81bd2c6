import { formatMemory } from '../../base/format-bytes.ts'
import { nameFormat } from '../../base/format-names.ts'
import type { RuntimeOffer } from '../../ports/model-runtime.ts'
import type { ModelVariant } from '../../ports/model-variant.ts'
import type { RuntimeEngine, ServingCapacity } from '../../ports/runtime-engine.ts'
import { findEngine, findEngineIncompatibility } from '../catalog/engine-choice.ts'
import { findOptionObstacle } from '../catalog/engine-options.ts'
import { findGpuCaveat, findGpuIncompatibility } from './gpu-requirements.ts'
import type { MemoryEstimate, ServedModel } from './memory-estimate.ts'
import { isRefused } from './offers.ts'
import type { PricedOffer, RefusedOffer, SelectionRules } from './offers.ts'
import { estimateCapacity } from './serving-capacity.ts'
import { findBounds, toServedModel } from './size-offer.ts'

/** Whether an offer can run a variant. */
export interface Evaluation {
  offer: PricedOffer
  /** The least capacity and its memory; null when a minimum exceeds a ceiling */
  least: ServingCapacity | null
  estimate: MemoryEstimate | null
  /** Why the offer is ruled out, or null */
  rejection: string | null
  /** True when the offer is ruled out for its memory */
  isTooSmall: boolean
  /** True when the offer would fit without the programs of others */
  isInUse: boolean
  /** A limitation of the offer's GPUs, or null */
  caveat: string | null
}

/** Finds out whether an offer can run a variant at its least capacity, and why not. */
export function evaluateOffer(
  offer: PricedOffer,
  variant: ModelVariant,
  rules: SelectionRules,
  refused: readonly RefusedOffer[],
): Evaluation {
  const caveat = findGpuCaveat(variant.format, offer)
  const model = toServedModel(variant, offer, rules)
  const least = readLeastCapacity(model, offer, rules)
  if (typeof least === 'string') {
    const impossible = { isTooSmall: false, isInUse: false }
    return { offer, least: null, estimate: null, rejection: least, ...impossible, caveat }
  }
  const estimate = estimateCapacity(model, least, offer)
  const incompatibility = findIncompatibility(model, offer, rules)
  const isTooSmall = incompatibility === null && estimate.totalBytes > offer.memoryBytes
  const isInUse = isTooSmall && estimate.totalBytes <= (offer.inUse?.memoryBytes ?? 0)
  const rejection = isTooSmall
    ? `${formatMemory(estimate.totalBytes)} needed${isInUse ? `, in use by others: ${offer.inUse?.programs}` : ''}`
    : (incompatibility ?? (isRefused(offer, refused) ? 'no capacity' : null))
  return { offer, least, estimate, rejection, isTooSmall, isInUse, caveat }
}

/** The least capacity, or why a minimum can't be met. */
function readLeastCapacity(
  model: ServedModel,
  offer: RuntimeOffer,
  rules: SelectionRules,
): ServingCapacity | string {
  try {
    return findBounds(model, offer, rules).least
  } catch (error) {
    if (error instanceof RangeError) return error.message.replace(/\.$/, '')
    throw error
  }
}

function findIncompatibility(model: ServedModel, offer: RuntimeOffer, rules: SelectionRules): string | null {
  const { variant } = model
  const { engines, availability } = offer.runtime
  const { format } = variant
  if (!offer.formats.includes(format)) {
    if (offer.obstacle !== undefined) return offer.obstacle.replace(/\.$/, '')
    return `runs ${offer.formats.map(nameFormat).join(', ')} models, not ${nameFormat(format)}`
  }
  const absence = availability?.(variant) ?? null
  if (absence !== null) return absence
  const engine = findEngine(variant, engines)
  const outdated = engine === undefined ? null : findEngineIncompatibility(variant, engine)
  const lack =
    engine === undefined || offer.runtime.isOneOfSeveral !== true ? null : findLack(engine, model, rules)
  return outdated ?? lack ?? findExcess(variant, offer) ?? findGpuIncompatibility(model, offer)
}

/** What the engine lacks that the owner asks for, and another runtime may have; null if nothing. */
function findLack(
  engine: RuntimeEngine,
  { variant: { modelType } }: ServedModel,
  { needs, loras = [] }: SelectionRules,
): string | null {
  const { title, versions = [], cacheSeparation } = engine
  if (loras.some(({ format }) => format !== engine.loras?.format)) return `${title} can’t serve its LoRAs`
  if (needs === undefined) return null
  const { options, version, separatesCache } = needs
  const obstacle = findOptionObstacle(engine, options)
  if (obstacle !== null) return obstacle.replace(/\.$/, '')
  if (version !== null && !versions.includes(version)) return `has no version ${version} of ${title}`
  return separatesCache && modelType === 'LLM' && cacheSeparation == null
    ? `${title} can’t separate the cached prompts of members`
    : null
}

/** Why a model is too large for an offer with a limit of size; null if it isn't. */
function findExcess(
  { sizeInBillions }: ModelVariant,
  { maxBillions = Infinity }: RuntimeOffer,
): string | null {
  return sizeInBillions > maxBillions ? `takes models of up to ${maxBillions}B, not ${sizeInBillions}B` : null
}
