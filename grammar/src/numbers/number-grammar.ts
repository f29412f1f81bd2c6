import { writeFixed } from './fixed-decimals.ts'
import {
  findHighest,
  findLowest,
  NumberLimitsError,
  rescale,
  toDecimal,
  writeDecimal,
} from './number-limits.ts'
import type { Bound, Decimal, End, NumberLimits } from './number-limits.ts'

const wholeNumber = '("0" | [1-9] [0-9]{0,15})'
/** Decimals with this many significant digits keep their order when a parser rounds them. */
const significantDigits = 15
/** The limit of numbers without a bound: JSON parsers keep all smaller integers exactly. */
const largest = 10n ** 15n - 1n
/** The automaton of a divisor has this many states per digit. */
const maxDivisor = 100n
const maxListed = 500n

/** The expression of all numbers in limits, if any. `add` defines a rule. Throws a NumberLimitsError. */
export function toNumberExpression(limits: NumberLimits, add: (text: string) => string): string | null {
  const { integer, multipleOf } = limits
  const low = findLowest(limits)
  const high = findHighest(limits)
  if (multipleOf === undefined && low === null && high === null) {
    return integer
      ? `"-"? ${wholeNumber}`
      : `"-"? ${wholeNumber} ("." [0-9]{1,16})? ([eE] [-+]? ("0" | [1-9] [0-9]?))?`
  }
  const step = multipleOf === undefined ? null : toDecimal(multipleOf)
  if (step !== null && step.digits <= 0n) throw new NumberLimitsError('"multipleOf" must be positive')
  const scale = Math.max(low?.scale ?? 0, high?.scale ?? 0, step?.scale ?? 0)
  const clamp = (given: Bound | null, fallback: bigint): End => {
    const limit = largest * 10n ** BigInt(scale)
    if (given === null) return { digits: fallback * limit, exclusive: false }
    const digits = given.digits * 10n ** BigInt(scale - given.scale)
    if (digits * fallback > limit) return { digits: fallback * limit, exclusive: false }
    if (-digits * fallback > limit) throw new NumberLimitsError(`a bound exceeds ${largest}`)
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
  if (low > high) return null
  const { digits: divisor } = step
  const first = (low + divisor - 1n) / divisor
  const last = high / divisor
  if (first > last) return null
  const text = (times: bigint): string => `"${writeDecimal(String(times * divisor), step.scale)}"`
  if (divisor > 1n && last - first < maxListed) {
    return add(
      Array.from({ length: Number(last - first) + 1 }, (_, more) => text(first + BigInt(more))).join(' | '),
    )
  }
  const zeros = step.scale > 0 ? 0 : trailingZeros(divisor)
  const power = 10n ** BigInt(zeros)
  if (divisor / power > maxDivisor) {
    throw new NumberLimitsError(`"multipleOf" supports larger steps only between close bounds`)
  }
  if (zeros === 0) return writeFixed(low, high, step.scale, Number(divisor), add)
  const leading = (low + power - 1n) / power
  const body = writeFixed(leading > 0n ? leading : 1n, high / power, 0, Number(divisor / power), add)
  const parts = [low === 0n ? '"0"' : null, body === null ? null : `(${body}) "${'0'.repeat(zeros)}"`]
  return parts.filter((part) => part !== null).join(' | ') || null
}

/** All non-negative decimals of a range, with fewer decimal places than the bounds, as many, or more. */
function writeDecimals(from: End, to: End, scale: number, add: (text: string) => string): string | null {
  const parts: (string | null)[] = []
  for (let decimals = 0; decimals <= scale; decimals++) {
    parts.push(writeFixed(...rescale(from, to, scale, decimals), decimals, 1, add))
  }
  // Rounding keeps the order of decimals, so it can only reach an exclusive bound.
  const whole = [from, to]
    .filter(({ exclusive }) => exclusive)
    .map(({ digits }) => String(digits / 10n ** BigInt(scale)).length)
  const more = significantDigits - scale - Math.max(0, ...whole)
  if (more > 0) {
    const dot = scale === 0 ? '"." ' : ''
    const longer = writeFixed(from.digits + (from.exclusive ? 1n : 0n), to.digits - 1n, scale, 1, add)
    if (longer !== null) parts.push(`(${longer}) ${dot}[0-9]{1,${more}}`)
    if (from.exclusive && from.digits < to.digits) {
      const start = `"${writeDecimal(String(from.digits), scale)}"`
      parts.push(`${start} ${dot}[0-9]{0,${more - 1}} [1-9]`)
    }
    // An inclusive bound with zeros behind it is still the bound.
    if (!to.exclusive && (from.exclusive ? from.digits < to.digits : from.digits <= to.digits)) {
      parts.push(`"${writeDecimal(String(to.digits), scale)}" ${dot}"0"{1,${more}}`)
    }
  }
  const found = parts.filter((part) => part !== null)
  return found.length === 0 ? null : add(found.join(' | '))
}

function trailingZeros(value: bigint): number {
  return /0*$/.exec(String(value))![0].length
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommonDivisor(b, a % b)
}
