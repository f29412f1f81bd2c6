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

const unitMilliseconds = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A duration such as 30s, 45m, 12h or 7d, in milliseconds. */
export const duration = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^\d{1,6}[smhd]$/, { error: 'must be a duration such as 30s, 45m, 12h or 7d', abort: true })
  .transform((text) => Number(text.slice(0, -1)) * unitMilliseconds[text.at(-1) as 's' | 'm' | 'h' | 'd'])

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
