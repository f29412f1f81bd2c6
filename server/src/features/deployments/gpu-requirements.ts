import type { GpuVendor, InstanceOffer, ModelVariant } from '../../ports/model-runtime.ts'
import { splitsHeads } from './memory-estimate.ts'

interface Requirement {
  /** Whose GPUs run the format; left out: anybody's, and a CPU does too */
  vendors?: readonly GpuVendor[]
  /** The least compute capability of an NVIDIA GPU */
  capability?: number
  /** From which compute capability on the format is computed in as it is; below it, what is done instead */
  native?: { capability: number; otherwise: string }
}

const nvidiaOrAmd = ['nvidia', 'amd'] as const

/** What vLLM's documentation of its quantizations and its supported hardware asks of a GPU, by format. */
const requirements: Record<string, Requirement> = {
  pytorch: { capability: 7, native: { capability: 8, otherwise: 'bf16 runs as fp16' } },
  fp8: {
    vendors: nvidiaOrAmd,
    capability: 7.5,
    native: { capability: 8.9, otherwise: 'fp8 is of the weights alone' },
  },
  awq: { vendors: nvidiaOrAmd, capability: 7.5 },
  gptq: { vendors: nvidiaOrAmd, capability: 7 },
  bnb: { vendors: nvidiaOrAmd, capability: 7 },
  fp4: { vendors: nvidiaOrAmd, capability: 8 },
  mlx: { vendors: ['apple'] },
}

const vendorNames: Record<GpuVendor, string> = { nvidia: 'NVIDIA', amd: 'AMD', apple: 'Apple' }

/** Counts of GPUs that share the layers of a model evenly, one engine across all of them. */
const evenCounts: readonly number[] = [1, 2, 4, 8]

/** Why an offer's GPUs can't run a variant, leaving memory aside, or null. What is not known of an offer is no objection. */
export function findGpuObjection(variant: ModelVariant, offer: InstanceOffer): string | null {
  const { format, architecture } = variant
  const { vendor, gpuCount, computeCapability } = offer
  const { vendors, capability } = requirements[format] ?? {}
  const isUnfit =
    vendors && (vendor === null ? gpuCount === 0 || format === 'mlx' : !vendors.includes(vendor))
  if (isUnfit) return `${format} needs a GPU of ${vendors.map((name) => vendorNames[name]).join(' or ')}`
  if (capability !== undefined && computeCapability !== null && computeCapability < capability) {
    return `compute capability ${computeCapability.toFixed(1)}, ${format} needs ${capability.toFixed(1)}`
  }
  if (!splitsHeads(format) || gpuCount === 0) return null
  if (!evenCounts.includes(gpuCount)) return `${gpuCount} GPUs, it can be split over 1, 2, 4 or 8`
  const heads = architecture?.attentionHeads
  if (heads !== undefined && heads % gpuCount !== 0) {
    return `${heads} attention heads can't be split over ${gpuCount} GPUs`
  }
  return null
}

/** What is less than perfect about running a format on an offer's GPUs, or null. */
export function findGpuCaveat(format: string, { computeCapability }: InstanceOffer): string | null {
  const native = requirements[format]?.native
  if (native === undefined || computeCapability === null) return null
  return computeCapability < native.capability ? native.otherwise : null
}
