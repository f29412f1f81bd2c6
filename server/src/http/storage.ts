import { statfs } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    storage: Storage
  }
}

/** The disks of the server and its database. */
export interface Storage {
  /** Remembers that an operation failed because a disk is full, and logs which one. */
  reportFull(error: unknown): void
  /** Resolves to true if `DATA_DIR` has no space, or if an operation failed lately because a disk is full. */
  isFull(): Promise<boolean>
}

/** The server counts as full for this long after an operation failed. */
const memoryMilliseconds = 15_000
const leastFreeBytes = 1024 * 1024

/** Adds `app.storage`; while a disk is full, `/readyz` fails. */
export function watchStorage(app: FastifyInstance, dataDirectory: string): void {
  let failedAt = -Infinity
  app.decorate('storage', {
    reportFull(error) {
      failedAt = performance.now()
      const { code, path } = error as { code?: string; path?: string }
      const disk =
        code === '53100' ? 'PostgreSQL’s disk' : `the disk of ${path ?? `DATA_DIR (${dataDirectory})`}`
      app.log.error({ err: error, dataDirectory }, `${disk} is full; free some space`)
    },
    async isFull() {
      if (performance.now() - failedAt < memoryMilliseconds) return true
      const { bavail, bsize } = await statfs(dataDirectory)
      if (bavail * bsize >= leastFreeBytes) return false
      app.log.error({ dataDirectory }, `the disk of DATA_DIR (${dataDirectory}) is full; free some space`)
      return true
    },
  })
}
