import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { locateModelFile, locateModelFolder, readModelFileName } from '../../base/model-files.ts'
import type { ModelStore } from '../../ports/model-store.ts'

const chunkBytes = 512 * 1024

/** Keeps uploaded model files in `DATA_DIR/models`, which all servers share. */
export function createDiskStore(dataDirectory: string): ModelStore {
  const locate = (sha256: string) => locateModelFile(dataDirectory, sha256)
  return {
    measure: (sha256) =>
      stat(locate(sha256)).then(
        ({ size }) => size,
        () => null,
      ),
    async read(sha256, { start, end }) {
      const file = await open(locate(sha256))
      return file.createReadStream({ start, end: end - 1, highWaterMark: chunkBytes })
    },
    put: (sha256, path) => rename(path, locate(sha256)),
    remove: (sha256) => rm(locate(sha256), { force: true }),
    list: () => listContents(locateModelFolder(dataDirectory)),
    tidy: async () => {},
    check: async () => {},
    close() {},
  }
}

async function listContents(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).map(readModelFileName).filter((sha256) => sha256 !== null)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
