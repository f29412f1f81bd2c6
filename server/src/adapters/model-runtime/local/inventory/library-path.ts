import { delimiter } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CudaLibrary } from './types.ts'

/**
 * Has an empty `libcudart.so.13`, which the loader finds first: node-llama-cpp then loads CUDA 12's
 * build.
 */
export const withoutCuda13 = fileURLToPath(
  new URL('../../../../../../engine/lib/without-cuda-13', import.meta.url),
)

/** The LD_LIBRARY_PATH of an engine: what Berth has installed comes before what the server has. */
export function buildLibraryPath(
  library: CudaLibrary | null,
  cudaFolders: readonly string[],
  inherited: string | undefined,
): string | undefined {
  const folders = [
    ...(library === 'cuda-12' ? [withoutCuda13] : []),
    ...cudaFolders,
    ...(inherited === undefined || inherited === '' ? [] : [inherited]),
  ]
  return folders.length === 0 ? undefined : folders.join(delimiter)
}
