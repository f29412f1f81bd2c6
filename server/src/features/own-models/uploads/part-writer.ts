import type { Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { Writable } from 'node:stream'
import type { Readable } from 'node:stream'
import { ApplicationError } from '../../../base/errors.ts'
import { openDigest } from './tus.ts'
import type { Checksum } from './tus.ts'

/** Bytes of a file that a request sends. */
export interface Part {
  offset: number
  /** Length of the body; 0 when unknown */
  length: number
  body: Readable
  checksum: Checksum | null
}

const queuedBytes = 1024 * 1024

/** Writes a part to a file. Bytes with a checksum count only after its verification. */
export class PartWriter {
  readonly #file: FileHandle
  readonly #checksum: Checksum | null
  readonly #digest: Hash | null
  #written: number
  #verified: number
  #durable: number

  constructor(file: FileHandle, { offset, checksum }: Pick<Part, 'offset' | 'checksum'>) {
    this.#file = file
    this.#checksum = checksum
    this.#digest = openDigest(checksum)
    this.#written = this.#verified = this.#durable = offset
  }

  /** The end of the bytes that count */
  get verified(): number {
    return this.#verified
  }

  /** The end of the bytes that survive a crash of the machine */
  get durable(): number {
    return this.#durable
  }

  /** Throws `body_too_large` if the chunk ends beyond `end`. */
  async write(chunk: Buffer, end: number): Promise<void> {
    assertFits(this.#written + chunk.length, end)
    for (let at = 0; at < chunk.length;) {
      const { bytesWritten } = await this.#file.write(chunk, at, chunk.length - at, this.#written + at)
      at += bytesWritten
    }
    this.#digest?.update(chunk)
    this.#written += chunk.length
    if (this.#digest === null) this.#verified = this.#written
  }

  /** Throws `checksum_mismatch` if the part does not have its checksum. */
  verify(): void {
    if (this.#digest !== null && !this.#digest.digest().equals(this.#checksum!.digest)) {
      const message =
        'The bytes do not have the digest of Upload-Checksum, and were dropped. Send them again.'
      throw new ApplicationError('checksum_mismatch', message)
    }
    this.#verified = this.#written
  }

  /** Makes the bytes that count durable, and resolves to their end. */
  async sync(): Promise<number> {
    const verified = this.#verified
    if (verified > this.#durable) await this.#file.datasync()
    this.#durable = verified
    return verified
  }
}

/** Throws `body_too_large` for a part that ends beyond the end of its file. */
export function assertFits(partEnd: number, end: number): void {
  if (partEnd <= end) return
  throw new ApplicationError('body_too_large', 'The body is longer than the rest of the file.')
}

/** Passes a body to `write`. Drops the rest after a failure, so that the server can still respond. */
export async function pour(
  body: Readable,
  signal: AbortSignal,
  write: (chunk: Buffer) => Promise<void>,
): Promise<void> {
  let writing: Promise<void> = Promise.resolve()
  const sink = new Writable({
    highWaterMark: queuedBytes,
    write(chunk: Buffer, _encoding, done) {
      writing = write(chunk)
      // oxlint-disable-next-line promise/no-callback-in-promise -- the interface of streams
      writing.then(() => done(), done)
    },
  })
  const ended = Promise.withResolvers<void>()
  const fail = (error: Error) => ended.reject(Object.assign(error, { statusCode: 400 }))
  const leave = () => {
    if (!body.readableEnded) fail(new Error('the caller disconnected'))
  }
  const stop = () => ended.reject(signal.reason as Error)
  sink.on('finish', ended.resolve).on('error', ended.reject)
  body.on('error', fail).on('close', leave)
  signal.addEventListener('abort', stop, { once: true })
  try {
    signal.throwIfAborted()
    body.pipe(sink)
    await ended.promise
  } finally {
    // Many clients read the response only after they have sent everything.
    body.unpipe(sink).off('error', fail).off('close', leave).resume()
    signal.removeEventListener('abort', stop)
    sink.destroy()
    await writing.catch(() => {})
  }
}
