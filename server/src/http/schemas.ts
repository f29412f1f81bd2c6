import { z } from 'zod'

/** Text from a caller: trimmed, limited in code points, without characters that PostgreSQL can't store. */
export function text(limits: { min: number; max: number }) {
  return unicodeText()
    .trim()
    .refine((value) => hasLength(value, limits), { error: describeLength(limits), abort: true })
    .meta({ minLength: limits.min, maxLength: limits.max })
}

/** Text that PostgreSQL can store: without NUL and lone surrogates. */
export function unicodeText() {
  return z
    .string()
    .refine(
      (value) => !value.includes('\0') && value.isWellFormed(),
      'Must not contain NUL or invalid Unicode.',
    )
}

function hasLength(value: string, { min, max }: { min: number; max: number }): boolean {
  if (value.length < min) return false
  const length = value.length > max ? Array.from(value).length : value.length
  return length <= max
}

function describeLength({ min, max }: { min: number; max: number }): string {
  return min === 0
    ? `Must have at most ${max} characters.`
    : min === 1
      ? `Must not be blank, and have at most ${max} characters.`
      : `Must have ${min} to ${max} characters.`
}

/** The file of `berth apply` that made something. */
export const managedBy = text({ min: 1, max: 100 })
  .nullable()
  .describe(
    'The name in the file of `berth apply` that manages it: a later `apply --prune` removes it when the file no longer has it; null for none',
  )

/** A time in ISO 8601, UTC, with milliseconds. */
export const timestamp = z.iso.datetime().meta({ examples: ['2026-01-02T03:04:05.678Z'] })

/** An optional field of a body that creates something: generated clients send null for a missing field. */
export function optionalField<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined)
}

/** An optional text of a form, at most `max` code points: null and blank text count as not given. */
export function optionalFormText(max: number) {
  return text({ min: 0, max })
    .nullish()
    .transform((value) => (value === null || value === '' ? undefined : value))
}

const trueWords = ['true', '1', 'yes', 'on']
const falseWords = ['false', '0', 'no', 'off']

/** A boolean in a query: true, 1, yes or on; false, 0, no or off; in any case. */
export function queryBoolean(fallback: boolean) {
  return z
    .string()
    .toLowerCase()
    .refine((word) => trueWords.includes(word) || falseWords.includes(word), 'Must be true or false.')
    .transform((word) => trueWords.includes(word))
    .default(fallback)
    .meta({ type: 'boolean' })
}

/** A whole number in decimal digits; unlike `Number()`, rejects `1e2`, `0x10` and an empty value. */
export function queryInteger(limits: { min: number; max: number }) {
  const message = `Must be a whole number from ${limits.min} to ${limits.max}.`
  return z
    .string()
    .refine((word) => /^\d{1,16}$/.test(word), message)
    .transform(Number)
    .refine((value) => value >= limits.min && value <= limits.max, message)
    .meta({ type: 'integer', minimum: limits.min, maximum: limits.max })
}

/** A parameter that may occur several times. */
export function queryList<Item extends z.ZodType>(item: Item) {
  return z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(item).max(32))
}

/** What a list can be sorted by, descending with `-`. */
export function querySort<const By extends string>(orders: readonly By[]) {
  return z.enum(orders.flatMap((order) => [order, `-${order}`] as const))
}

/** The order that `querySort` names. */
export function toListOrder<By extends string>(sort: By | `-${By}`): { by: By; descending: boolean } {
  const descending = sort.startsWith('-')
  return { by: (descending ? sort.slice(1) : sort) as By, descending }
}

/** The text to search for; null for none */
export function toSearch(q: string | undefined): string | null {
  return q === undefined || q === '' ? null : q
}

/** An integer id in a path. Any other value is a 404. */
export const pathId = z
  .string()
  .refine((digits) => /^[1-9]\d{0,15}$/.test(digits) && Number.isSafeInteger(Number(digits)))
  .transform(Number)
  .meta({ type: 'integer', minimum: 1 })

/** Query parameters of a paginated list. */
export const pageQuery = z.object({
  limit: queryInteger({ min: 1, max: 500 }).default(100).describe('Maximum number of items'),
  offset: queryInteger({ min: 0, max: Number.MAX_SAFE_INTEGER })
    .default(0)
    .describe('Number of items to skip'),
})

/** Has the form of the token of an emailed link. */
export const exampleToken = 'q0Hf3Wk9sVb2nXz7LmYtR5cJ8uPaDgE1oI4hB6xKvTM'

// The formats and bounds of responses are documentation. A response must not fail because of them.

/** The number of an entity, in a response. */
export const entityId = z.int().meta({ minimum: 1 })

/** A number of things in a response. */
export const count = z.number().meta({ type: 'integer', minimum: 0 })

/** An email address in a response. */
export const email = z.string().meta({ format: 'email' })

/** A URL in a response. */
export const url = z.string().meta({ format: 'uri' })

/** The envelope of a paginated list. */
export function page<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item).describe('The items from `offset` on'),
    total: count.describe('Number of all items'),
    limit: count.describe('The `limit` of the request'),
    offset: count.describe('The `offset` of the request'),
  })
}
