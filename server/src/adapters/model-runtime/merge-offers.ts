import type { InstanceOffer, InstanceType } from '../../ports/model-runtime.ts'

/** An instance type that a runtime has found, by its name in the instance type file. */
export interface ReportedInstanceType {
  instanceType: string
  /** Formats that the runtime's engines support on it */
  formats: string[]
  /** Defaults to the region in the file */
  region?: string | undefined
}

/**
 * Adds the instance type file's facts to a runtime's names of types. Skips duplicates and names that it
 * lacks: their memory is unknown. `memoryShare` of a GPU is for an engine; the rest covers estimation errors.
 */
export function mergeOffers(
  types: readonly InstanceType[],
  reported: readonly ReportedInstanceType[],
  memoryShare: number,
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
      memoryBytes: Math.floor(type.gpuMemoryBytes * type.gpuCount * memoryShare),
      formats: report.formats,
    }
  })
}
