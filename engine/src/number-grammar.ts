/** The constraints of a JSON Schema on a number. */
export interface NumberLimits {
  integer: boolean
  minimum?: number | undefined
  exclusiveMinimum?: number | undefined
  maximum?: number | undefined
  exclusiveMaximum?: number | undefined
  multipleOf?: number | undefined
}

/** Limits that no grammar expresses; the message names the keyword. */
export class NumberLimitsError extends Error {}

/** A decimal number: `digits / 10 ** scale`. */
interface Decimal {
  digits: bigint
  scale: number
}

/** One end of a range of decimals with a common scale. */
interface End {
  digits: bigint
  exclusive: boolean
}

const WHOLE = '("0" | [1-9] [0-9]{0,15})'
/** Decimals with this many significant digits keep their order when a parser rounds them. */
const SIGNIFICANT = 15
/** The limit of numbers without a bound: JSON parsers keep all smaller integers exactly. */
const LARGEST = 10n ** 15n - 1n
/** The automaton of a divisor has this many states per digit. */
const MAX_DIVISOR = 100n
const MAX_LISTED = 500n

/**
 * Returns the expression of all numbers within the limits, or null when none exists. `add` defines a rule and returns its name. Throws
 * a NumberLimitsError.
 */
export function toNumberExpression(limits: NumberLimits, add: (text: string) => string): string | null {
  const { integer, multipleOf } = limits
  const low = lowest(limits)
  const high = highest(limits)
  if (multipleOf === undefined && low === null && high === null) {
    return integer ? `"-"? ${WHOLE}` : `"-"? ${WHOLE} ("." [0-9]{1,16})? ([eE] [-+]? ("0" | [1-9] [0-9]?))?`
  }
  const step = multipleOf === undefined ? null : toDecimal(multipleOf)
  if (step !== null && step.digits <= 0n) throw new NumberLimitsError('"multipleOf" must be positive')
  const scale = Math.max(low?.scale ?? 0, high?.scale ?? 0, step?.scale ?? 0)
  const clamp = (given: (Decimal & { exclusive: boolean }) | null, fallback: bigint): End => {
    const limit = LARGEST * 10n ** BigInt(scale)
    if (given === null) return { digits: fallback * limit, exclusive: false }
    const digits = given.digits * 10n ** BigInt(scale - given.scale)
    if (digits * fallback > limit) return { digits: fallback * limit, exclusive: false }
    if (-digits * fallback > limit) throw new NumberLimitsError(`a bound exceeds ${LARGEST}`)
    return { digits, exclusive: given.exclusive }
  }
  const least = clamp(low, -1n)
  const most = clamp(high, 1n)

  const write = (from: End, to: End): string | null => {
    if (integer || step !== null) return writeSteps(from, to, scale, integer ? toWholeStep(step) : step!, add)
    return writeDecimals(from, to, scale, add)
  }
  const positive = write(least.digits < 0n ? { digits: 0n, exclusive: false } : least, most)
  const negate = ({ digits, exclusive }: End): End => ({ digits: -digits, exclusive })
  const negative =
    least.digits >= 0n
      ? null
      : write(most.digits >= 0n ? { digits: 0n, exclusive: true } : negate(most), negate(least))
  const alternatives = [positive, negative === null ? null : `"-" (${negative})`].filter(
    (text) => text !== null,
  )
  return alternatives.length === 0 ? null : alternatives.join(' | ')
}

/** The smallest integer that every integer multiple of the step is a multiple of. */
function toWholeStep(step: Decimal | null): Decimal {
  if (step === null) return { digits: 1n, scale: 0 }
  return { digits: step.digits / greatestCommonDivisor(step.digits, 10n ** BigInt(step.scale)), scale: 0 }
}

/** The non-negative multiples of the step. Fractions have exactly the step's decimals. */
function writeSteps(
  from: End,
  to: End,
  scale: number,
  step: Decimal,
  add: (text: string) => string,
): string | null {
  const [low, high] = rescale(from, to, scale, step.scale)
  const { digits: divisor } = step
  const first = (low + divisor - 1n) / divisor
  const last = high / divisor
  if (first > last) return null
  const text = (times: bigint): string => `"${point(String(times * divisor), step.scale)}"`
  if (divisor > 1n && last - first < MAX_LISTED) {
    return add(
      Array.from({ length: Number(last - first) + 1 }, (_, more) => text(first + BigInt(more))).join(' | '),
    )
  }
  const zeros = step.scale > 0 ? 0 : trailingZeros(divisor)
  const power = 10n ** BigInt(zeros)
  if (divisor / power > MAX_DIVISOR) {
    throw new NumberLimitsError(`"multipleOf" supports larger steps only between close bounds`)
  }
  if (zeros === 0) return writeFixed(low, high, step.scale, Number(divisor), add)
  const leading = (low + power - 1n) / power
  const body = writeFixed(leading > 0n ? leading : 1n, high / power, 0, Number(divisor / power), add)
  const parts = [low === 0n ? '"0"' : null, body === null ? null : `(${body}) "${'0'.repeat(zeros)}"`]
  return parts.filter((part) => part !== null).join(' | ') || null
}

/** All non-negative decimals of a range: with each number of decimals up to the bounds', and with more. */
function writeDecimals(from: End, to: End, scale: number, add: (text: string) => string): string | null {
  const parts: (string | null)[] = []
  for (let decimals = 0; decimals <= scale; decimals++) {
    parts.push(writeFixed(...rescale(from, to, scale, decimals), decimals, 1, add))
  }
  // Rounding keeps the order of decimals, so it can only reach an exclusive bound.
  const whole = [from, to]
    .filter(({ exclusive }) => exclusive)
    .map(({ digits }) => String(digits / 10n ** BigInt(scale)).length)
  const more = SIGNIFICANT - scale - Math.max(0, ...whole)
  if (more > 0) {
    const dot = scale === 0 ? '"." ' : ''
    const longer = writeFixed(from.digits + (from.exclusive ? 1n : 0n), to.digits - 1n, scale, 1, add)
    if (longer !== null) parts.push(`(${longer}) ${dot}[0-9]{1,${more}}`)
    if (from.exclusive && from.digits < to.digits) {
      const start = `"${point(String(from.digits), scale)}"`
      parts.push(`${start} ${dot}[0-9]{0,${more - 1}} [1-9]`)
    }
  }
  const found = parts.filter((part) => part !== null)
  return found.length === 0 ? null : add(found.join(' | '))
}

/** The inclusive bounds of a range at another scale. */
function rescale(from: End, to: End, scale: number, target: number): [low: bigint, high: bigint] {
  const low = from.digits + (from.exclusive ? 1n : 0n)
  const high = to.digits - (to.exclusive ? 1n : 0n)
  const factor = 10n ** BigInt(Math.abs(scale - target))
  if (target > scale) {
    return [from.digits * factor + (from.exclusive ? 1n : 0n), to.digits * factor - (to.exclusive ? 1n : 0n)]
  }
  return [(low + factor - 1n) / factor, high < 0n ? -1n : high / factor]
}

/** The multiples of `divisor` in an inclusive range, written with a decimal point before the last `scale` digits. */
function writeFixed(
  low: bigint,
  high: bigint,
  scale: number,
  divisor: number,
  add: (text: string) => string,
): string | null {
  const known = new Map<string, string | null>()
  const rest = (from: string | null, to: string | null, left: number, remainder: number): string | null => {
    if (left === 0) return remainder === 0 ? '' : null
    const start = from === null || /^0*$/.test(from) ? null : from
    const end = to === null || /^9*$/.test(to) ? null : to
    const dot = left === scale ? '"." ' : ''
    if (start === null && end === null && divisor === 1) {
      return left > scale && scale > 0 ? `[0-9]{${left - scale}} "." [0-9]{${scale}}` : `${dot}[0-9]{${left}}`
    }
    const key = `${start} ${end} ${left} ${remainder}`
    if (!known.has(key)) {
      const digits = new Map<string, string>()
      const lowest = Number(start?.[0] ?? 0)
      const highest = Number(end?.[0] ?? 9)
      for (let digit = lowest; digit <= highest; digit++) {
        const tail = rest(
          start !== null && digit === lowest ? start.slice(1) : null,
          end !== null && digit === highest ? end.slice(1) : null,
          left - 1,
          (remainder * 10 + digit) % divisor,
        )
        if (tail !== null) digits.set(tail, `${digits.get(tail) ?? ''}${digit}`)
      }
      const alternatives = [...digits].map(([tail, found]) => `[${found}] ${tail}`)
      known.set(key, alternatives.length === 0 ? null : add(`${dot}(${alternatives.join(' | ')})`))
    }
    return known.get(key)!
  }

  const alternatives: (string | null)[] = []
  const shortest = scale + 1
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
    alternatives.push(rest(pad(from), pad(to), length, 0))
  }
  if (full.length > 0) {
    const fraction = scale === 0 ? '' : ` "." [0-9]{${scale}}`
    alternatives.push(`[1-9] [0-9]{${full[0]! - scale - 1},${full.at(-1)! - scale - 1}}${fraction}`)
  }
  const found = alternatives.filter((text) => text !== null)
  return found.length === 0 ? null : add(found.join(' | '))
}

function lowest({ minimum, exclusiveMinimum }: NumberLimits): (Decimal & { exclusive: boolean }) | null {
  if (exclusiveMinimum !== undefined && exclusiveMinimum >= (minimum ?? -Infinity)) {
    return { ...toDecimal(exclusiveMinimum), exclusive: true }
  }
  return minimum === undefined ? null : { ...toDecimal(minimum), exclusive: false }
}

function highest({ maximum, exclusiveMaximum }: NumberLimits): (Decimal & { exclusive: boolean }) | null {
  if (exclusiveMaximum !== undefined && exclusiveMaximum <= (maximum ?? Infinity)) {
    return { ...toDecimal(exclusiveMaximum), exclusive: true }
  }
  return maximum === undefined ? null : { ...toDecimal(maximum), exclusive: false }
}

/** The shortest decimal that identifies the number. */
function toDecimal(value: number): Decimal {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e')
  const decimals = mantissa.split('.')[1]?.length ?? 0
  const digits = BigInt(mantissa.replace('.', ''))
  const scale = decimals - Number(exponent)
  if (scale > 30) throw new NumberLimitsError('a bound has more than 30 decimals')
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale }
}

function point(digits: string, scale: number): string {
  if (scale === 0) return digits
  const padded = digits.padStart(scale + 1, '0')
  return `${padded.slice(0, -scale)}.${padded.slice(-scale)}`
}

function trailingZeros(value: bigint): number {
  return /0*$/.exec(String(value))![0].length
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommonDivisor(b, a % b)
}
