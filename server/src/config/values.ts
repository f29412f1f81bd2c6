import { z } from 'zod'

/** Any text, trimmed; unset when it is empty. */
export const optionalText = z.string().trim().min(1).optional()

/** A whole number in digits, within limits. */
export function wholeNumber(minimum: number, maximum: number) {
  const message = `give a whole number from ${minimum} to ${maximum}`
  return z
    .string()
    .trim()
    .regex(/^\d{1,16}$/, { error: message, abort: true })
    .transform(Number)
    .pipe(z.int(message).min(minimum, message).max(maximum, message))
}

/** One of some words, in any case. */
export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z
    .string()
    .trim()
    .toLowerCase()
    .pipe(z.enum(values, `give one of ${values.join(', ')}`))
}

/** A yes or a no. */
export const flag = oneOf(['true', 'false', '1', '0', 'yes', 'no']).transform((word) =>
  ['true', '1', 'yes'].includes(word),
)

/** Texts divided by commas. */
export const commaList = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
)

/** An http or https address without a sign-in, a query or a fragment; `example` is shown where it is none. */
export function webAddress(example: string) {
  const message = `give an http or https address such as ${example}`
  return z
    .url({ protocol: /^https?$/, error: message })
    .transform((text) => new URL(text))
    .refine(
      (url) => url.username === '' && url.password === '' && url.search === '' && url.hash === '',
      message,
    )
}
