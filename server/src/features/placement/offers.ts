import { endpointFormat } from '../../ports/model-variant.ts'
import type { EngineOptions, ModelLora } from '../../ports/model-variant.ts'
import type { RuntimeOffer } from '../../ports/model-runtime.ts'
import type { CapacityCeilings, CapacityMinimums } from './serving-capacity.ts'

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

/** False for the offer of endpoints, which have their models already. */
export function isHardware({ formats }: Pick<PricedOffer, 'formats'>): boolean {
  return !formats.includes(endpointFormat)
}

/** The name of an offer in sentences. */
export function nameOffer({ title, instanceType }: Pick<RuntimeOffer, 'title' | 'instanceType'>): string {
  return title ?? instanceType
}

/** True if engines share this offer's memory with other deployments: on a CPU, and on Apple's GPUs. */
export function isSharedOffer({ gpuCount, vendor }: Pick<RuntimeOffer, 'gpuCount' | 'vendor'>): boolean {
  return gpuCount === 0 || vendor === 'apple'
}

/** True if the runtime refused an instance of this type. */
export function isRefused(
  { runtime, instanceType }: RuntimeOffer,
  refused: readonly RefusedOffer[],
): boolean {
  return refused.some((each) => each.runtime === runtime.name && each.instance_type === instanceType)
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
export function compareValues<Value extends number | string>(one: Value, other: Value): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function toNumber(price: string | null): number {
  return price === null ? Infinity : Number(price)
}
