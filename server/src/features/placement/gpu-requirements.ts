import type { GpuVendor, InstanceOffer } from '../../ports/model-runtime.ts'
import { nameFormat } from '../../base/format-names.ts'
import type { ServedModel } from './memory-estimate.ts'

interface GpuRequirement {
  /** Supported GPU vendors; omitted when any vendor or a CPU works */
  vendors?: readonly GpuVendor[]
  /** Minimum compute capability of an NVIDIA GPU */
  capability?: number
  /** The compute capability with native support, and what happens below it */
  native?: { capability: number; otherwise: string }
}

const nvidiaOrAmd = ['nvidia', 'amd'] as const

/** Requirements by format, from vLLM's documentation on quantization and supported hardware. */
const requirements: Record<string, GpuRequirement> = {
  pytorch: { capability: 7, native: { capability: 8, otherwise: 'bf16 runs as fp16' } },
  fp8: {
    vendors: nvidiaOrAmd,
    capability: 7.5,
    native: { capability: 8.9, otherwise: 'fp8 applies to the weights only' },
  },
  awq: { vendors: nvidiaOrAmd, capability: 7.5 },
  gptq: { vendors: nvidiaOrAmd, capability: 7 },
  bnb: { vendors: nvidiaOrAmd, capability: 7 },
  fp4: { vendors: nvidiaOrAmd, capability: 8 },
  compressed: { vendors: nvidiaOrAmd, capability: 7.5 },
  mlx: { vendors: ['apple'] },
}

const vendorNames: Record<GpuVendor, string> = { nvidia: 'NVIDIA', amd: 'AMD', apple: 'Apple' }

/** GPU counts that one engine can split a model over. */
const supportedGpuCounts: readonly number[] = [1, 2, 4, 8]

/** Why an offer's GPUs can't run a variant, apart from memory, or null. Unknown facts count as compatible. */
export function findGpuIncompatibility(
  { variant, engine }: ServedModel,
  offer: InstanceOffer,
): string | null {
  const { format, architecture } = variant
  const { vendor, gpuCount, computeCapability } = offer
  const { vendors, capability } = requirements[format] ?? {}
  // A GPU of unknown vendor may be one of NVIDIA's or AMD's. Apple's are always known.
  const isSupported =
    vendor === null ? gpuCount > 0 && vendors?.includes('nvidia') : vendors?.includes(vendor)
  if (vendors !== undefined && isSupported !== true) {
    return `${nameFormat(format)} requires an ${vendors.map((name) => vendorNames[name]).join(' or ')} GPU`
  }
  if (capability !== undefined && computeCapability !== null && computeCapability < capability) {
    return `${nameFormat(format)} requires compute capability ${capability.toFixed(1)}, this GPU has ${computeCapability.toFixed(1)}`
  }
  if (engine.sizing === 'per-slot' || gpuCount === 0) return null
  if (!supportedGpuCounts.includes(gpuCount)) return `${gpuCount} GPUs, but a model can use 1, 2, 4 or 8`
  const heads = architecture?.attentionHeads
  if (heads !== undefined && heads % gpuCount !== 0) {
    return `${heads} attention heads can't be split over ${gpuCount} GPUs`
  }
  return null
}

/** A limitation of running a format on the GPUs of an offer, or null. */
export function findGpuCaveat(format: string, { computeCapability }: InstanceOffer): string | null {
  const native = requirements[format]?.native
  if (native === undefined || computeCapability === null) return null
  return computeCapability < native.capability ? native.otherwise : null
}

/** A size's preferred formats on GPUs: fp8 if computed in (fastest), original, fp8 for weights, others. */
export function rankFormat(format: string, offer: InstanceOffer): number {
  const order = ['fp8', 'pytorch']
  const rank = order.indexOf(format)
  if (rank === -1) return order.length + 1
  return format === 'fp8' && findGpuCaveat(format, offer) !== null ? order.length : rank
}
