/** A remote file that is read in ranges. */
export interface ByteSource {
  /** Size of the file in bytes */
  size: number
  /** Resolves to the bytes from `start` up to, but without, `end` */
  read(start: number, end: number): Promise<Uint8Array>
}

/** A file that is not what it claims to be. `message` is one sentence for a person. */
export class InvalidFileError extends Error {}

/** A file that ends in the middle of its header. */
export class TruncatedFileError extends InvalidFileError {}

const firstChunkBytes = 256 * 1024
const chunkBytes = 2 * 1024 * 1024

/** Reads little-endian values in chunks. Throws InvalidFileError at the end and beyond `limit` bytes. */
export class ByteCursor {
  readonly #source: ByteSource
  readonly #limit: number
  #chunk: DataView = new DataView(new ArrayBuffer(0))
  #chunkStart = 0
  #position = 0

  constructor(source: ByteSource, limit: number) {
    this.#source = source
    this.#limit = Math.min(limit, source.size)
  }

  get position(): number {
    return this.#position
  }

  /** True if the next `bytes` bytes can be read without waiting. */
  has(bytes: number): boolean {
    return this.#position + bytes <= this.#chunkStart + this.#chunk.byteLength
  }

  /** Makes sure that the next `bytes` bytes can be read without waiting. */
  async fetch(bytes: number): Promise<void> {
    if (bytes === 0 || this.has(bytes)) return
    const start = this.#position
    this.#requireRoom(bytes)
    const wanted = Math.max(bytes, start === 0 ? firstChunkBytes : chunkBytes)
    const end = Math.min(start + wanted, this.#limit)
    const read = await this.#source.read(start, end)
    if (read.byteLength < bytes) throw new TruncatedFileError('The file ends in the middle of its header.')
    this.#chunk = new DataView(read.buffer, read.byteOffset, read.byteLength)
    this.#chunkStart = start
  }

  /** Skips bytes without fetching them. */
  skip(bytes: number): void {
    this.#requireRoom(bytes)
    this.#position += bytes
  }

  /** The next bytes, which `fetch` must have provided, like those of the methods below. */
  takeBytes(bytes: number): Uint8Array {
    const at = this.#advance(bytes)
    return new Uint8Array(this.#chunk.buffer, this.#chunk.byteOffset + at, bytes)
  }

  /** The next `bytes` bytes as an integer. Those above 2^53 are rounded. */
  takeInteger(bytes: 1 | 2 | 4 | 8, isSigned = false): number {
    const at = this.#advance(bytes)
    if (bytes === 1) return isSigned ? this.#chunk.getInt8(at) : this.#chunk.getUint8(at)
    if (bytes === 2) return isSigned ? this.#chunk.getInt16(at, true) : this.#chunk.getUint16(at, true)
    if (bytes === 4) return isSigned ? this.#chunk.getInt32(at, true) : this.#chunk.getUint32(at, true)
    // Much faster than a BigInt
    const high = isSigned ? this.#chunk.getInt32(at + 4, true) : this.#chunk.getUint32(at + 4, true)
    return high * 2 ** 32 + this.#chunk.getUint32(at, true)
  }

  takeFloat(bytes: 4 | 8): number {
    const at = this.#advance(bytes)
    return bytes === 4 ? this.#chunk.getFloat32(at, true) : this.#chunk.getFloat64(at, true)
  }

  #advance(bytes: number): number {
    const at = this.#position - this.#chunkStart
    this.#position += bytes
    return at
  }

  #requireRoom(bytes: number): void {
    if (this.#position + bytes <= this.#limit) return
    throw new InvalidFileError(
      this.#limit === this.#source.size
        ? 'The header claims more bytes than the file has.'
        : 'The header is too long.',
    )
  }
}
