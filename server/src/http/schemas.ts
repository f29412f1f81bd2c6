import { z } from 'zod'

/** One line of text from a caller: trimmed, counted in code points, free of what PostgreSQL can't hold. */
export function text(limits: { min: number; max: number }) {
  return unicodeText()
    .trim()
    .refine((value) => hasLength(value, limits), { error: describeLength(limits), abort: true })
    .meta({ minLength: limits.min, maxLength: limits.max })
}

/** Any text that PostgreSQL can hold: no NUL and no half of a surrogate pair. */
export function unicodeText() {
  return z
    .string()
    .refine(
      (value) => !value.includes('\0') && value.isWellFormed(),
      'This text has a character that is not allowed.',
    )
}

function hasLength(value: string, { min, max }: { min: number; max: number }): boolean {
  if (value.length < min) return false
  const length = value.length > max ? Array.from(value).length : value.length
  return length <= max
}

function describeLength({ min, max }: { min: number; max: number }): string {
  return min === 0
    ? `Give at most ${max} characters.`
    : min === 1
      ? `Give 1 to ${max} characters that are not all spaces.`
      : `Give ${min} to ${max} characters.`
}

/** An instant as ISO 8601 in UTC with milliseconds. */
export const timestamp = z.iso.datetime().meta({ examples: ['2026-01-02T03:04:05.678Z'] })

/** Query values arrive as text; anything but the two words is refused. */
export function queryBoolean(fallback: boolean) {
  return z
    .string()
    .refine((word) => word === 'true' || word === 'false', 'Give true or false.')
    .transform((word) => word === 'true')
    .default(fallback)
    .meta({ type: 'boolean' })
}

/** A whole number in a query; `1e2`, `0x10` and an empty text are refused, unlike in JavaScript's `Number`. */
export function queryInteger(limits: { min: number; max: number; fallback: number }) {
  const message = `Give a whole number from ${limits.min} to ${limits.max}.`
  return z
    .string()
    .refine((word) => /^\d{1,16}$/.test(word), message)
    .transform(Number)
    .refine((value) => value >= limits.min && value <= limits.max, message)
    .default(limits.fallback)
    .meta({ type: 'integer', minimum: limits.min, maximum: limits.max })
}

/** An integer id in an address. What can't be one is not valid there, and so a 404. */
export const pathId = z
  .string()
  .refine((digits) => /^[1-9]\d{0,15}$/.test(digits) && Number.isSafeInteger(Number(digits)))
  .transform(Number)
  .meta({ type: 'integer', minimum: 1 })

/** Query parameters of a paginated list. */
export const pageQuery = z.object({
  limit: queryInteger({ min: 1, max: 500, fallback: 100 }).describe('How many items at most'),
  offset: queryInteger({ min: 0, max: Number.MAX_SAFE_INTEGER, fallback: 0 }).describe(
    'How many items to skip',
  ),
})

/** The envelope of a paginated list. */
export function page<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), total: z.int(), limit: z.int(), offset: z.int() })
}
