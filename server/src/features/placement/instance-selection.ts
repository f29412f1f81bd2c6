import { formatMemory } from '../../base/format-bytes.ts'
import { endpointFormat } from '../../ports/model-variant.ts'
import type { ModelVariant } from '../../ports/model-variant.ts'
import { evaluateOffer } from './evaluate-offer.ts'
import type { Evaluation } from './evaluate-offer.ts'
import {
  describeAway,
  describeNeed,
  describeSizing,
  explainInfeasible,
  listRejections,
} from './explain-selection.ts'
import { compareOffers, compareValues, isHardware, isRefused, isSharedOffer, nameOffer } from './offers.ts'
import type { PricedOffer, RefusedOffer, SelectionRules } from './offers.ts'
import type { Sizing } from './serving-capacity.ts'
import { sharedCapacityOf, sizeOffer } from './size-offer.ts'

export interface Selection {
  offer: PricedOffer
  sizing: Sizing
  /** The memory that the engine uses at that size */
  memoryBytes: number
  /** The memory estimate, the choice, and the offers ruled out, as sentences */
  reason: string
}

/** The result of evaluating one offer. */
export interface ConsideredOffer {
  offer: PricedOffer
  fits: boolean
  /** True if the offer doesn't fit only because its memory is too small for the least capacity */
  isTooSmall: boolean
  /** True if the offer would fit without the programs of others */
  isInUse: boolean
  /** Why the offer was ruled out, or its usable and needed memory if it fits */
  reason: string
}

/**
 * `considered`: all offers, first those that fit, in order of preference. `memoryBytes`: the model's least
 * need on the chosen offer, or the lowest if none fits; null without offers.
 */
export type SelectionResult = { considered: ConsideredOffer[]; memoryBytes: number | null } & (
  | { outcome: 'selected'; selection: Selection }
  /**
   * `isInUse`: an instance type would fit without the programs of others. `away`: the runtimes that might
   * have one that fits, because they don't respond.
   */
  | { outcome: 'infeasible'; reason: string; isInUse: boolean; away?: readonly string[] | undefined }
)

/**
 * Sizes an engine to the wanted offer, or the cheapest that can run a variant, except `refused` ones. Ties go
 * to fewer GPUs, the higher compute capability, less memory, the name, the first runtime. Offers without a
 * known price come last.
 */
export function selectInstance(
  variant: ModelVariant,
  offers: readonly PricedOffer[],
  rules: SelectionRules,
  refused: readonly RefusedOffer[],
): SelectionResult {
  if (variant.format === endpointFormat) return selectEndpoint(variant, offers, rules, refused)
  const { instanceType: wanted } = rules
  const isWanted = ({ offer }: Evaluation) => wanted === undefined || offer.instanceType === wanted
  const hardware = offers.filter(isHardware)
  const evaluations = hardware
    .toSorted(compareOffers)
    .map((offer) => evaluateOffer(offer, variant, rules, refused))
    .toSorted((one, other) => Number(isWanted(other)) - Number(isWanted(one)))
  const considered = [...evaluations.filter(isFitting), ...evaluations.filter(isRejected)]
  const fitting = considered.filter((evaluation) => isFitting(evaluation) && isWanted(evaluation))
  const rejected = considered.filter((evaluation) => isRejected(evaluation) && isWanted(evaluation))
  const [chosen] = fitting
  const sizing = chosen === undefined ? null : sizeOffer(variant, chosen.offer, rules)
  if (chosen === undefined || sizing === null) {
    const smallest = findSmallest(rejected)
    const reason = explainInfeasible(rejected, smallest, hardware, wanted) + describeAway(rules)
    return {
      outcome: 'infeasible',
      reason,
      isInUse: rejected.some(({ isInUse }) => isInUse),
      away: rules.away,
      considered: considered.map(toConsideredOffer),
      memoryBytes: smallest?.estimate?.totalBytes ?? null,
    }
  }
  const { offer, caveat } = chosen
  const rank =
    wanted !== undefined
      ? 'the instance type that the owner asked for'
      : fitting.length === 1
        ? 'the only instance type that fits'
        : `the cheapest of ${fitting.length} instance types that fit`
  const sentences = [
    `Needs at least ${describeNeed(chosen)}.`,
    `${nameOffer(offer)} provides ${formatMemory(offer.memoryBytes)} and is ${rank}.`,
    describeSizing(sizing, (isSharedOffer(offer) ? sharedCapacityOf(offer, rules) : rules.ceilings).settings),
    ...(offer.inUse === undefined ? [] : [`Its memory is in use by others: ${offer.inUse.programs}.`]),
    ...(offer.shares === undefined
      ? []
      : [`It has one of ${offer.shares} shares of the memory of a GPU, whose compute is not divided.`]),
    ...(caveat === null ? [] : [`On its GPUs, ${caveat}.`]),
    ...(rejected.length > 0 ? [`Ruled out: ${listRejections(rejected)}.`] : []),
  ]
  return {
    outcome: 'selected',
    selection: { offer, sizing, memoryBytes: sizing.estimate.totalBytes, reason: sentences.join(' ') },
    considered: considered.map(toConsideredOffer),
    memoryBytes: chosen.estimate?.totalBytes ?? null,
  }
}

/** As many requests as engines take that share their memory */
const endpointSequences = 256

/** An endpoint has the model already, so nothing is sized. */
function selectEndpoint(
  variant: ModelVariant,
  offers: readonly PricedOffer[],
  { minimums, instanceType: wanted }: SelectionRules,
  refused: readonly RefusedOffer[],
): SelectionResult {
  const { contextLength: contextTokens } = variant
  const infeasible = (reason: string, considered: ConsideredOffer[]): SelectionResult => {
    return { outcome: 'infeasible', reason, isInUse: false, considered, memoryBytes: null }
  }
  const offer = offers.find((each) => !isHardware(each))
  if (offer === undefined) {
    const message = `${variant.modelName} is a model of an endpoint. This server uses none: its operator can name \`endpoints\` in RUNTIME.`
    return infeasible(message, [])
  }
  const lack =
    (minimums.contextTokens ?? 0) > contextTokens
      ? `A context of ${minimums.contextTokens} tokens is more than the ${contextTokens} tokens that the model has.`
      : wanted !== undefined && wanted !== offer.instanceType
        ? `Endpoints serve this model, not ${wanted}.`
        : isRefused(offer, refused)
          ? 'The endpoint is gone.'
          : null
  const reason = lack ?? 'The endpoint that has the model serves it. Berth starts nothing.'
  const considered = [{ offer, fits: lack === null, isTooSmall: false, isInUse: false, reason }]
  if (lack !== null) return infeasible(lack, considered)
  const sizing: Sizing = {
    capacity: { contextTokens, parallelSequences: endpointSequences },
    estimate: { weightBytes: 0, cacheBytes: 0, overheadBytes: 0, totalBytes: 0 },
    limitedBy: { context: 'model', sequences: 'engine' },
  }
  const selection = { offer, sizing, memoryBytes: 0, reason }
  return { outcome: 'selected', selection, considered, memoryBytes: 0 }
}

const isFitting = ({ rejection }: Evaluation) => rejection === null
const isRejected = (evaluation: Evaluation) => !isFitting(evaluation)

function toConsideredOffer(evaluation: Evaluation): ConsideredOffer {
  const { offer, estimate, rejection, isTooSmall, isInUse, caveat } = evaluation
  const needed = estimate === null ? '' : `, ${formatMemory(estimate.totalBytes)} needed`
  const others = offer.inUse === undefined ? '' : `; in use by others: ${offer.inUse.programs}`
  const memory = `${formatMemory(offer.memoryBytes)} usable${needed}${others}`
  const fit = caveat === null ? memory : `${memory}; ${caveat}`
  return {
    offer,
    fits: rejection === null,
    isTooSmall,
    isInUse,
    reason: isTooSmall ? memory : (rejection ?? fit),
  }
}

/** The least need, preferably on an instance type that only lacks memory. */
function findSmallest(evaluations: readonly Evaluation[]): Evaluation | null {
  const bytesOf = ({ estimate }: Evaluation) => estimate?.totalBytes ?? Infinity
  const tooSmall = evaluations.filter(({ isTooSmall }) => isTooSmall)
  const candidates = tooSmall.length > 0 ? tooSmall : evaluations
  return candidates.toSorted((one, other) => compareValues(bytesOf(one), bytesOf(other)))[0] ?? null
}
