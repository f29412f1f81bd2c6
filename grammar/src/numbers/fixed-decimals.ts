/** The multiples of `divisor` in an inclusive range with `scale` decimals, if any. `add` defines a rule. */
export function writeFixed(
  low: bigint,
  high: bigint,
  scale: number,
  divisor: number,
  add: (text: string) => string,
): string | null {
  const writeDigits = createDigitWriter(scale, divisor, add)
  const alternatives: (string | null)[] = []
  const shortest = scale + 1
  /** Lengths whose numbers are all in the range */
  const full: number[] = []
  for (let length = shortest; length <= String(high).length || length === shortest; length++) {
    const first = length === shortest ? 0n : 10n ** BigInt(length - 1)
    const last = 10n ** BigInt(length) - 1n
    const from = low > first ? low : first
    const to = high < last ? high : last
    if (from > to) continue
    if (divisor === 1 && from === first && to === last && length > shortest) {
      full.push(length)
      continue
    }
    const pad = (value: bigint): string => String(value).padStart(length, '0')
    alternatives.push(writeDigits(pad(from), pad(to), length, 0))
  }
  if (full.length > 0) {
    const fraction = scale === 0 ? '' : ` "." [0-9]{${scale}}`
    alternatives.push(`[1-9] [0-9]{${full[0]! - scale - 1},${full.at(-1)! - scale - 1}}${fraction}`)
  }
  const found = alternatives.filter((text) => text !== null)
  return found.length === 0 ? null : add(found.join(' | '))
}

/**
 * The expression of a number's last `left` digits between `from` and `to`, or null without any. A bound is
 * null once earlier digits decide. `remainder` is theirs by the divisor.
 */
type DigitWriter = (from: string | null, to: string | null, left: number, remainder: number) => string | null

function createDigitWriter(scale: number, divisor: number, add: (text: string) => string): DigitWriter {
  const known = new Map<string, string | null>()
  const write: DigitWriter = (from, to, left, remainder) => {
    if (left === 0) return remainder === 0 ? '' : null
    const start = from === null || /^0*$/.test(from) ? null : from
    const end = to === null || /^9*$/.test(to) ? null : to
    const dot = left === scale ? '"." ' : ''
    if (start === null && end === null && divisor === 1) {
      return left > scale && scale > 0 ? `[0-9]{${left - scale}} "." [0-9]{${scale}}` : `${dot}[0-9]{${left}}`
    }
    const key = `${start} ${end} ${left} ${remainder}`
    if (!known.has(key)) {
      const alternatives = listDigits(start, end, left, remainder)
      known.set(key, alternatives.length === 0 ? null : add(`${dot}(${alternatives.join(' | ')})`))
    }
    return known.get(key)!
  }
  /** The alternatives for the next digit, each with the digits after it. */
  const listDigits = (
    start: string | null,
    end: string | null,
    left: number,
    remainder: number,
  ): string[] => {
    const digits = new Map<string, string>()
    const lowest = Number(start?.[0] ?? 0)
    const highest = Number(end?.[0] ?? 9)
    for (let digit = lowest; digit <= highest; digit++) {
      const tail = write(
        start !== null && digit === lowest ? start.slice(1) : null,
        end !== null && digit === highest ? end.slice(1) : null,
        left - 1,
        (remainder * 10 + digit) % divisor,
      )
      if (tail !== null) digits.set(tail, `${digits.get(tail) ?? ''}${digit}`)
    }
    return [...digits].map(([tail, found]) => `[${found}] ${tail}`)
  }
  return write
}
