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
  /** Where the data of the last piece lie */
  start = 0
  end = 0

  /** The data in `bytes`, which is overwritten: the chunks are moved together. */
  decode(bytes: Buffer): Buffer {
    this.start = 0
    this.end = 0
    let at = 0
    while (at < bytes.length && !this.ended && !this.broken) {
      const next = this.expected === 'data' ? this.takeData(bytes, at) : this.takeWhole(bytes, at)
      if (next === at) this.take(bytes[at]!)
      at = next === at ? at + 1 : next
    }
    this.consumed = at
    return bytes.subarray(this.start, this.end)
  }

  /** Takes what there is of a chunk's data; returns the position behind it. */
  takeData(bytes: Buffer, at: number): number {
    const stop = Math.min(at + this.remaining, bytes.length)
    this.append(bytes, at, stop)
    this.remaining -= stop - at
    if (this.remaining === 0) this.expected = 'data return'
    return stop
  }

  /** Takes a chunk that is there from its size to its end and has no extension, as most are; otherwise returns `at` as it is. */
  takeWhole(bytes: Buffer, at: number): number {
    if (this.expected !== 'size' || this.digits > 0) return at
    let size = 0
    let position = at
    for (let digit = toDigit(bytes[at]); digit >= 0 && position - at < 6; digit = toDigit(bytes[position])) {
      size = size * 16 + digit
      position += 1
    }
    const end = position + 2 + size
    if (size === 0 || !endsLine(bytes, position) || !endsLine(bytes, end)) return at
    this.append(bytes, position + 2, end)
    return end + 2
  }

  append(bytes: Buffer, from: number, stop: number): void {
    if (this.end === 0) this.start = from
    else bytes.copyWithin(this.end, from, stop)
    this.end = this.end === 0 ? stop : this.end + stop - from
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

function endsLine(bytes: Buffer, at: number): boolean {
  return bytes[at] === carriageReturn && bytes[at + 1] === lineFeed
}

function toDigit(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
