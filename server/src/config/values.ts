import ipaddr from 'ipaddr.js'
import { z } from 'zod'

/** Trimmed text; optional. */
export const optionalText = z.string().trim().min(1).optional()

/** A whole number between two limits, in decimal digits. */
export function wholeNumber(minimum: number, maximum: number) {
  const message = `must be a whole number from ${minimum} to ${maximum}`
  return z
    .string()
    .trim()
    .regex(/^\d{1,16}$/, { error: message, abort: true })
    .transform(Number)
    .pipe(z.int(message).min(minimum, message).max(maximum, message))
}

/** A positive number up to a limit, with at most three decimal places. */
export function positiveNumber(maximum: number) {
  const message = `must be a number above 0, up to ${maximum}, with at most three decimal places`
  return z
    .string()
    .trim()
    .regex(/^\d{1,9}(\.\d{1,3})?$/, { error: message, abort: true })
    .transform(Number)
    .pipe(z.number(message).positive(message).max(maximum, message))
}

/** The limits of a number with a unit. Without `plain`, a number without a unit is refused. */
interface Limits {
  least: string
  most: string
  /** The unit of a number without one */
  plain?: string
}

/** Builds the parser of numbers with these lowercase units. `shown` completes the error message. */
function quantityParser(units: Record<string, number>, shown: string) {
  const parse = (text: string, plain = '') => {
    const [, digits = 'NaN', unit = ''] = /^\s*(\d{1,16})\s*([a-z]*)\s*$/i.exec(text) ?? []
    return Number(digits) * (units[unit.toLowerCase() || plain] ?? NaN)
  }
  return ({ least, most, plain }: Limits) =>
    z.string().transform((text, context) => {
      const value = parse(text, plain)
      if (value >= parse(least) && value <= parse(most)) return value
      context.addIssue(`must be ${shown}, from ${least} to ${most}`)
      return z.NEVER
    })
}

/** A duration such as 30s, 5m, 8h or 7d, in milliseconds. */
export const duration = quantityParser(
  { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 },
  'a duration such as 30s, 5m, 8h or 7d',
)

/** A size such as 512MiB or 2GiB, in bytes. */
export const size = quantityParser(
  { b: 1, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40 },
  'a size such as 512MiB or 2GiB',
)

/** One of several words, case-insensitive. */
export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z
    .string()
    .trim()
    .toLowerCase()
    .pipe(z.enum(values, `must be one of ${values.join(', ')}`))
}

/** A boolean: true, 1 or yes; false, 0 or no. */
export const flag = oneOf(['true', 'false', '1', '0', 'yes', 'no']).transform((word) =>
  ['true', '1', 'yes'].includes(word),
)

/** Texts separated by commas. */
export const commaList = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
)

/** An http or https URL without credentials, query and fragment. The error message shows `example`. */
export function webAddress(example: string) {
  const message = `must be an http or https address such as ${example}`
  return z
    .url({ protocol: /^https?$/, error: message })
    .transform((text) => new URL(text))
    .refine(
      (url) => url.username === '' && url.password === '' && url.search === '' && url.hash === '',
      message,
    )
}

/** A program and its arguments, separated by spaces. There is no shell, so quotes are not allowed. */
export const commandLine = z
  .string()
  .trim()
  .regex(/^[^\s"'`$|&;<>]+( +[^\s"'`$|&;<>]+)*$/, 'must be a program and its arguments, without quotes')
  .transform((text): [string, ...string[]] => {
    const [program = '', ...args] = text.split(/ +/)
    return [program, ...args]
  })

/** Networks in CIDR notation, separated by commas; none by default. */
export const networkList = commaList
  .refine(
    (networks) => networks.every((network) => ipaddr.isValidCIDR(network)),
    'must be networks separated by commas, such as 10.0.0.0/8, fd00::/8',
  )
  .default([])
