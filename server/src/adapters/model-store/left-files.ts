import { locateModelFile } from '../../base/model-files.ts'
import type { ModelStore } from '../../ports/model-store.ts'
import { createDiskStore } from './disk.ts'

/** Adds files in `DATA_DIR/models` from before the remote store, until `tidy` has moved them. */
export function withLeftFiles(remote: ModelStore, dataDirectory: string): ModelStore {
  const disk = createDiskStore(dataDirectory)
  return {
    ...remote,
    measure: async (sha256) => (await disk.measure(sha256)) ?? remote.measure(sha256),
    read: (sha256, range) =>
      disk.read(sha256, range).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return remote.read(sha256, range)
        throw error
      }),
    async remove(sha256) {
      await disk.remove(sha256)
      await remote.remove(sha256)
    },
    async tidy(signal) {
      await remote.tidy(signal)
      for (const sha256 of await disk.list()) {
        if ((await remote.measure(sha256)) === null)
          await remote.put(sha256, locateModelFile(dataDirectory, sha256), signal)
        await disk.remove(sha256)
      }
    },
  }
}
