/** The port to the storage of uploaded model files: each content once, under its SHA-256 in hexadecimal. */

import type { Readable } from 'node:stream'

/** Methods throw `model_store_unavailable` if the store does not answer or refuses. */
export interface ModelStore {
  /** The size of a file in bytes; null if it is not stored. */
  measure(sha256: string): Promise<number | null>
  /** Streams the bytes of a stored file from `start` up to, but without, `end`. */
  read(sha256: string, range: { start: number; end: number }): Promise<Readable>
  /** Stores the file at `path`, whole or not at all, and may move it. Replaces the same content. */
  put(sha256: string, path: string, signal: AbortSignal): Promise<void>
  /** Removes a file, if it is stored. */
  remove(sha256: string): Promise<void>
  /** The SHA-256 of every stored file. */
  list(): Promise<string[]>
  /** Repairs what crashes and changed settings left behind. */
  tidy(signal: AbortSignal): Promise<void>
  /** Tries to store something, and logs why that fails. */
  check(): Promise<void>
  close(): void
}
