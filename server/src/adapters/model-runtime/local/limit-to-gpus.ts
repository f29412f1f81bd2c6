import type { Gpu } from './gpus.ts'

/** No index of a GPU: an empty list means all GPUs to some versions of ROCm. */
const none = '-1'

/** The variables with which a program sees only these GPUs, by their UUIDs. */
export function limitToGpus(vendor: Gpu['vendor'], uuids: readonly string[]): Record<string, string> {
  if (vendor === 'nvidia') return { CUDA_VISIBLE_DEVICES: uuids.join(',') }
  // HIP and PyTorch count the GPUs that ROCm's runtime shows.
  const indexes = uuids.map((_, index) => index).join(',') || none
  return {
    ROCR_VISIBLE_DEVICES: uuids.join(',') || none,
    HIP_VISIBLE_DEVICES: indexes,
    CUDA_VISIBLE_DEVICES: indexes,
  }
}
