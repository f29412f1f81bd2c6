const carriageReturn = 0x0d
const lineFeed = 0x0a
const semicolon = 0x3b
/** More hexadecimal digits would exceed the exact integers of a number. */
const maxSizeDigits = 12
/** Most bytes in all extensions and trailers together */
const maxExtraBytes = 16 * 1024

/** What the next byte must belong to. */
type Expected =
  | 'size'
  | 'extension'
  /** The line feed after a size, an extension or a trailer */
  | 'line feed'
  | 'data'
  | 'data carriage return'
  | 'data line feed'
  /** The start of a trailer, or of the blank line that ends the body */
  | 'trailer or end'
  | 'trailer'
  | 'final line feed'

/** Decodes a chunked body (RFC 9112, section 7.1) that arrives in arbitrary pieces. */
export class ChunkedDecoder {
  #isComplete = false
  #isMalformed = false
  #consumed = 0
  #expected: Expected = 'size'
  /** Bytes of the current chunk still to come */
  #remaining = 0
  #sizeDigits = 0
  #extraBytes = 0
  /** Where the data of the last piece is */
  #start = 0
  #end = 0

  /** The body is complete. Bytes that `decode` did not consume are not part of it. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** The body is malformed where `decode` stopped. */
  get isMalformed(): boolean {
    return this.#isMalformed
  }

  /** Bytes consumed from the last piece */
  get consumed(): number {
    return this.#consumed
  }

  /** Returns the data in `bytes`, which is overwritten: the data of all chunks is moved together. */
  decode(bytes: Buffer): Buffer {
    this.#start = 0
    this.#end = 0
    let at = 0
    while (at < bytes.length && !this.#isComplete && !this.#isMalformed) {
      const next = this.#expected === 'data' ? this.#takeData(bytes, at) : this.#takeWholeChunk(bytes, at)
      if (next === at) this.#takeByte(bytes[at]!)
      at = next === at ? at + 1 : next
    }
    this.#consumed = at
    return bytes.subarray(this.#start, this.#end)
  }

  /** Takes the available data of the current chunk and returns the offset after it. */
  #takeData(bytes: Buffer, at: number): number {
    const stop = Math.min(at + this.#remaining, bytes.length)
    this.#append(bytes, at, stop)
    this.#remaining -= stop - at
    if (this.#remaining === 0) this.#expected = 'data carriage return'
    return stop
  }

  /** Fast path: takes a complete chunk without an extension. Returns `at` for other chunks. */
  #takeWholeChunk(bytes: Buffer, at: number): number {
    if (this.#expected !== 'size' || this.#sizeDigits > 0) return at
    let size = 0
    let position = at
    for (let digit = toDigit(bytes[at]); digit >= 0 && position - at < 6; digit = toDigit(bytes[position])) {
      size = size * 16 + digit
      position += 1
    }
    const end = position + 2 + size
    if (size === 0 || !isLineEnd(bytes, position) || !isLineEnd(bytes, end)) return at
    this.#append(bytes, position + 2, end)
    return end + 2
  }

  #append(bytes: Buffer, from: number, stop: number): void {
    if (this.#end === 0) this.#start = from
    else bytes.copyWithin(this.#end, from, stop)
    this.#end = this.#end === 0 ? stop : this.#end + stop - from
  }

  /** Takes one byte that is not data. */
  #takeByte(byte: number): void {
    switch (this.#expected) {
      case 'size':
        return this.#takeSize(byte)
      case 'extension':
      case 'trailer':
        if (byte === carriageReturn) this.#expected = 'line feed'
        else this.#takeExtra(byte)
        return
      case 'line feed':
        this.#check(byte === lineFeed)
        this.#expected = this.#remaining > 0 ? 'data' : 'trailer or end'
        return
      case 'data carriage return':
        this.#check(byte === carriageReturn)
        this.#expected = 'data line feed'
        return
      case 'data line feed':
        this.#check(byte === lineFeed)
        this.#expected = 'size'
        this.#sizeDigits = 0
        return
      case 'trailer or end':
        this.#expected = byte === carriageReturn ? 'final line feed' : 'trailer'
        if (byte !== carriageReturn) this.#takeExtra(byte)
        return
      case 'final line feed':
        this.#check(byte === lineFeed)
        this.#isComplete = true
        return
      case 'data':
    }
  }

  #takeSize(byte: number): void {
    const digit = toDigit(byte)
    if (digit >= 0) {
      this.#sizeDigits += 1
      this.#check(this.#sizeDigits <= maxSizeDigits)
      this.#remaining = this.#remaining * 16 + digit
      return
    }
    this.#check(this.#sizeDigits > 0)
    if (byte === carriageReturn) this.#expected = 'line feed'
    else {
      this.#check(byte === semicolon)
      this.#expected = 'extension'
    }
  }

  #takeExtra(byte: number): void {
    this.#extraBytes += 1
    this.#check(byte !== lineFeed && byte !== 0 && this.#extraBytes <= maxExtraBytes)
  }

  #check(holds: boolean): void {
    if (!holds) this.#isMalformed = true
  }
}

function isLineEnd(bytes: Buffer, at: number): boolean {
  return bytes[at] === carriageReturn && bytes[at + 1] === lineFeed
}

function toDigit(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
