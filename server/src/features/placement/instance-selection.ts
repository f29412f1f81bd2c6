import { formatMemory } from '../../base/format-bytes.ts'
import type { RuntimeOffer } from '../../ports/model-runtime.ts'
import { endpointFormat } from '../../ports/model-variant.ts'
import type { EngineOptions, ModelLora, ModelVariant } from '../../ports/model-variant.ts'
import type { RuntimeEngine, ServingCapacity } from '../../ports/runtime-engine.ts'
import { findEngine, findEngineIncompatibility } from '../catalog/engine-choice.ts'
import { findOptionObstacle } from '../catalog/engine-options.ts'
import { nameFormat } from '../../base/format-names.ts'
import { findGpuCaveat, findGpuIncompatibility } from './gpu-requirements.ts'
import type { MemoryEstimate, ServedModel } from './memory-estimate.ts'
import { estimateCapacity, findLeastCapacity, reduceShared, sizeEngine } from './serving-capacity.ts'
import type {
  CapacityCeilings,
  CapacityMinimums,
  CeilingSettings,
  SharedCapacity,
  Sizing,
} from './serving-capacity.ts'

/** An instance type of a runtime that refused an instance. It is stored like this. */
export interface RefusedOffer {
  runtime: string
  instance_type: string
}

/** What the owner asks of the engine, besides LoRAs. */
export interface EngineNeeds {
  options: EngineOptions
  /** null for any version */
  version: string | null
  separatesCache: boolean
}

export interface PricedOffer extends RuntimeOffer {
  /** A decimal string in the main unit of the currency; null when unknown */
  pricePerHour: string | null
}

/** What an engine may and must be able to serve. */
export interface SelectionRules {
  /** For engines that have their GPUs to themselves */
  ceilings: CapacityCeilings
  minimums: CapacityMinimums
  /** The only instance type that the owner takes; omitted for any */
  instanceType?: string | undefined
  /** The LoRAs that the engine serves; omitted for none */
  loras?: readonly ModelLora[] | undefined
  /** What the engines of some runtimes may lack; omitted for nothing */
  needs?: EngineNeeds | undefined
  /** The names of runtimes whose offers are unknown; omitted for none */
  away?: readonly string[] | undefined
}

/** The capacity of an engine that shares a host with others, unless the runtime has its own. */
const defaultSharedCapacity: SharedCapacity = { contextTokens: 8192, parallelSequences: 4 }

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

function isHardware({ formats }: Pick<PricedOffer, 'formats'>): boolean {
  return !formats.includes(endpointFormat)
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

/** The name of an offer in sentences. */
export function nameOffer({ title, instanceType }: Pick<RuntimeOffer, 'title' | 'instanceType'>): string {
  return title ?? instanceType
}

function describeAway({ away = [] }: SelectionRules): string {
  if (away.length === 0) return ''
  return ` The instance types of ${away.join(' and ')} are unknown at the moment, because it does not respond.`
}

/** An engine's capacity on an offer; null if it doesn't fit. RangeError if a minimum exceeds a ceiling. */
export function sizeOffer(variant: ModelVariant, offer: RuntimeOffer, rules: SelectionRules): Sizing | null {
  const model = toServedModel(variant, offer, rules)
  const { ceilings, least } = findBounds(model, offer, rules)
  return sizeEngine(model, offer, ceilings, least)
}

/** The variant with the engine of an offer. A format that no engine loads is estimated like vLLM's. */
export function toServedModel(
  variant: ModelVariant,
  { runtime }: RuntimeOffer,
  { loras }: SelectionRules,
): ServedModel {
  const engine = findEngine(variant, runtime.engines)
  return { variant, engine: engine ?? { sizing: 'shared-cache', images: 'none', profile: '' }, loras }
}

/** True if engines share this offer's memory with other deployments: on a CPU, and on Apple's GPUs. */
export function isSharedOffer({ gpuCount, vendor }: Pick<RuntimeOffer, 'gpuCount' | 'vendor'>): boolean {
  return gpuCount === 0 || vendor === 'apple'
}

/** The capacity of engines that share the memory of a host with others. */
function sharedCapacityOf({ runtime }: RuntimeOffer, { ceilings }: SelectionRules): SharedCapacity {
  const { sharedCapacity } = runtime
  return sharedCapacity === null ? defaultSharedCapacity : { ...sharedCapacity, settings: ceilings.settings }
}

function findBounds(model: ServedModel, offer: RuntimeOffer, rules: SelectionRules) {
  const { ceilings, minimums } = rules
  if (!isSharedOffer(offer)) return { ceilings, least: findLeastCapacity(model, ceilings, minimums) }
  const shared = sharedCapacityOf(offer, rules)
  const capacity = reduceShared(model, offer, shared)
  // An owner may ask for more than the default.
  const allowed = { ...shared, contextTokens: ceilings.contextTokens }
  const least = findLeastCapacity(model, allowed, minimums, capacity)
  return {
    // The engine takes no more of the shared memory than it needs.
    ceilings: {
      contextTokens: least.contextTokens,
      parallelSequences: shared.parallelSequences,
      leavesMemory: least.contextTokens !== shared.contextTokens,
    },
    least,
  }
}

const factors = {
  model: 'the context of the model',
  memory: 'as its memory allows',
  engine: 'the most that its engine handles well',
}

/** One sentence with both numbers and what limits them; a common limit stands once. */
function describeSizing({ capacity, limitedBy }: Sizing, settings: CeilingSettings | undefined): string {
  const { contextTokens, parallelSequences } = capacity
  const name = (limit: keyof typeof factors | 'ceiling', setting: string | undefined) =>
    limit !== 'ceiling'
      ? factors[limit]
      : setting === undefined
        ? 'the default of this server'
        : `the setting ${setting}`
  const first = name(limitedBy.context, settings?.context)
  const second = name(limitedBy.sequences, settings?.sequences)
  const context = `It serves requests of up to ${contextTokens} tokens`
  const sequences = `${parallelSequences} at a time (${second}).`
  return first === second ? `${context}, ${sequences}` : `${context} (${first}), ${sequences}`
}

/** The order in which offers are preferred. */
export function compareOffers(one: PricedOffer, other: PricedOffer): number {
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

const noneFits = 'No instance type can run this model.'

interface Evaluation {
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

function evaluateOffer(
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

function isRefused({ runtime, instanceType }: RuntimeOffer, refused: readonly RefusedOffer[]): boolean {
  return refused.some((each) => each.runtime === runtime.name && each.instance_type === instanceType)
}

const isFitting = ({ rejection }: Evaluation) => rejection === null
const isRejected = (evaluation: Evaluation) => !isFitting(evaluation)

/** Why a model is too large for an offer with a limit of size; null if it isn't. */
function findExcess(
  { sizeInBillions }: ModelVariant,
  { maxBillions = Infinity }: RuntimeOffer,
): string | null {
  return sizeInBillions > maxBillions ? `takes models of up to ${maxBillions}B, not ${sizeInBillions}B` : null
}

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

function explainInfeasible(
  rejected: readonly Evaluation[],
  smallest: Evaluation | null,
  offers: readonly PricedOffer[],
  wanted: string | undefined,
): string {
  if (offers.length === 0) return `${noneFits} The compute backend offers no instance types.`
  if (smallest === null) {
    const names = new Set(offers.map(({ instanceType }) => instanceType))
    return `This server has no instance type ${wanted}, but ${[...names].join(', ')}.`
  }
  const need = smallest.estimate === null ? '' : `It needs at least ${describeNeed(smallest)}. `
  const verdict = wanted === undefined ? noneFits : `${wanted} can’t run this model.`
  return `${verdict} ${need}Ruled out: ${listRejections(rejected)}.`
}

/** Groups ruled-out types by reason: `t4-x1 (13.5 GiB), l4-x1 (20.3 GiB): 34.9 GiB needed`. */
function listRejections(rejected: readonly Evaluation[]): string {
  const groups = Map.groupBy(rejected, ({ rejection }) => rejection ?? '')
  return [...groups]
    .map(([rejection, members]) => `${members.map(nameWithMemory).join(', ')}: ${rejection}`)
    .join('; ')
}

function nameWithMemory({ offer, isTooSmall }: Evaluation): string {
  return isTooSmall ? `${nameOffer(offer)} (${formatMemory(offer.memoryBytes)})` : nameOffer(offer)
}

function describeNeed({ estimate, least }: Evaluation): string {
  if (estimate === null || least === null) return 'an unknown amount of memory'
  const { contextTokens, parallelSequences } = least
  return (
    `${formatMemory(estimate.totalBytes)} (weights ${formatMemory(estimate.weightBytes)} + KV cache ` +
    `${formatMemory(estimate.cacheBytes)} for ${parallelSequences} × ${contextTokens} tokens + overhead ` +
    `${formatMemory(estimate.overheadBytes)})`
  )
}
