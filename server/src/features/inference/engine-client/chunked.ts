const carriageReturn = 0x0d
const lineFeed = 0x0a
const semicolon = 0x3b
/** Digits of a chunk's size at most: as many as are exact in a number. */
const mostDigits = 12
/** Bytes of extensions and trailers at most, all together. */
const mostExtra = 16 * 1024

type Expected =
  | 'size'
  | 'extension'
  /** The line feed behind a size or a trailer */
  | 'line end'
  | 'data'
  | 'data return'
  | 'data end'
  /** A trailer, or the end of all */
  | 'trailers'
  | 'trailer'
  | 'last end'

/** Reads a chunked body (RFC 9112, section 7.1) in whatever pieces it comes. */
export class ChunkedReader {
  /** The body has ended; what `decode` left of its bytes is no part of it */
  ended = false
  /** It is not well-formed from here on */
  broken = false
  /** Bytes of the last piece that were read */
  consumed = 0
  expected: Expected = 'size'
  /** Bytes of the chunk that are still to come */
  remaining = 0
  digits = 0
  extra = 0

  /** The data in `bytes`, which is overwritten: the chunks are moved together. */
  decode(bytes: Buffer): Buffer {
    let start = 0
    let end = 0
    let at = 0
    while (at < bytes.length && !this.ended && !this.broken) {
      if (this.expected !== 'data') {
        this.take(bytes[at]!)
        at += 1
        continue
      }
      const stop = Math.min(at + this.remaining, bytes.length)
      if (end === 0) start = at
      else bytes.copyWithin(end, at, stop)
      end = end === 0 ? stop : end + stop - at
      this.remaining -= stop - at
      at = stop
      if (this.remaining === 0) this.expected = 'data return'
    }
    this.consumed = at
    return bytes.subarray(start, end)
  }

  /** Takes a byte that is no data. */
  take(byte: number): void {
    switch (this.expected) {
      case 'size':
        return this.takeSize(byte)
      case 'extension':
      case 'trailer':
        if (byte === carriageReturn) this.expected = 'line end'
        else this.takeExtra(byte)
        return
      case 'line end':
        this.must(byte === lineFeed)
        this.expected = this.remaining > 0 ? 'data' : 'trailers'
        return
      case 'data return':
        this.must(byte === carriageReturn)
        this.expected = 'data end'
        return
      case 'data end':
        this.must(byte === lineFeed)
        this.expected = 'size'
        this.digits = 0
        return
      case 'trailers':
        this.expected = byte === carriageReturn ? 'last end' : 'trailer'
        if (byte !== carriageReturn) this.takeExtra(byte)
        return
      case 'last end':
        this.must(byte === lineFeed)
        this.ended = true
        return
      case 'data':
    }
  }

  takeSize(byte: number): void {
    const digit = toDigit(byte)
    if (digit >= 0) {
      this.digits += 1
      this.must(this.digits <= mostDigits)
      this.remaining = this.remaining * 16 + digit
      return
    }
    this.must(this.digits > 0)
    if (byte === carriageReturn) this.expected = 'line end'
    else {
      this.must(byte === semicolon)
      this.expected = 'extension'
    }
  }

  takeExtra(byte: number): void {
    this.extra += 1
    this.must(byte !== lineFeed && byte !== 0 && this.extra <= mostExtra)
  }

  must(holds: boolean): void {
    if (!holds) this.broken = true
  }
}

function toDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
