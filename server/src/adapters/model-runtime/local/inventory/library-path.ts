import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CudaLibrary } from './types.ts'

/**
 * Has an empty `libcudart.so.13`, which the loader finds first: node-llama-cpp then loads CUDA 12's
 * build.
 */
export const withoutCuda13 = fileURLToPath(
  new URL('../../../../../../engine/lib/without-cuda-13', import.meta.url),
)

/**
 * The LD_LIBRARY_PATH of an engine: what Berth has installed comes before what the server has, and a toolkit
 * of CUDA that its variables name comes last.
 */
export function buildLibraryPath(
  library: CudaLibrary | null,
  cudaFolders: readonly string[],
  { LD_LIBRARY_PATH, CUDA_HOME, CUDA_PATH }: Record<string, string | undefined>,
): string | undefined {
  const isSet = (path: string | undefined): path is string => path !== undefined && path !== ''
  const toolkits = [CUDA_HOME, CUDA_PATH].filter(isSet).map((home) => join(home, 'lib64'))
  const folders = [
    ...(library === 'cuda-12' ? [withoutCuda13] : []),
    ...cudaFolders,
    ...[LD_LIBRARY_PATH].filter(isSet),
    ...new Set(toolkits),
  ]
  return folders.length === 0 ? undefined : folders.join(delimiter)
}
