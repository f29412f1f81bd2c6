import type { InstanceOffer, InstanceType } from '../../ports/model-runtime.ts'

/** The part of a GPU's usable memory that an engine may take; the rest is for what no estimate foresees. */
const usableShare = 0.9

/** An instance type that a runtime found to be there, by the name that it has in the instance type file. */
export interface ReportedType {
  instanceType: string
  /** What the runtime's engines run on it */
  formats: string[]
  /** Where it was found; left out: where the file has it */
  region?: string | undefined
}

/**
 * The offers of a runtime that knows instance types by name alone: what it reports as there, with the facts of the instance type
 * file. A name that the file does not have is left out, as nothing is known about its memory; a name reported twice is one offer.
 */
export function mergeOffers(
  types: readonly InstanceType[],
  reported: readonly ReportedType[],
): InstanceOffer[] {
  const found = new Map(reported.map((each) => [each.instanceType, each]))
  return types.flatMap((type) => {
    const report = found.get(type.name)
    if (report === undefined) return []
    return {
      instanceType: type.name,
      region: report.region ?? type.region,
      gpuCount: type.gpuCount,
      gpuModel: type.gpuModel,
      vendor: type.vendor,
      computeCapability: type.computeCapability,
      memoryBytes: Math.floor(type.gpuMemoryBytes * type.gpuCount * usableShare),
      formats: report.formats,
    }
  })
}
