/** The thread of `file-hasher.ts`. It reads synchronously, because it does nothing else. */

import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'

export interface HashOrder {
  id: number
  path: string
  /** Becomes 1 when the hash is not needed anymore */
  isAborted: Int32Array
}

export type HashAnswer =
  | { id: number; sha256: string; message: null }
  | { id: number; sha256: null; message: string }

const chunk = Buffer.allocUnsafe(1024 * 1024)

parentPort?.on('message', ({ id, path, isAborted }: HashOrder) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  parentPort?.postMessage(answer(id, path, isAborted))
})

function answer(id: number, path: string, isAborted: Int32Array): HashAnswer {
  try {
    return { id, sha256: hashFile(path, isAborted), message: null }
  } catch (error) {
    return { id, sha256: null, message: error instanceof Error ? error.message : String(error) }
  }
}

function hashFile(path: string, isAborted: Int32Array): string {
  const hash = createHash('sha256')
  const file = openSync(path, 'r')
  try {
    for (let length = 1; length > 0;) {
      if (Atomics.load(isAborted, 0) === 1) throw new Error('aborted')
      length = readSync(file, chunk, 0, chunk.length, null)
      hash.update(chunk.subarray(0, length))
    }
    return hash.digest('hex')
  } finally {
    closeSync(file)
  }
}
