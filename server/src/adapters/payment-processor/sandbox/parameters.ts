import { z } from 'zod'
import { invalid } from './errors.ts'
import type { SandboxError } from './errors.ts'

/** Parameters arrive as text; each schema is closed, so that a name or a value that we don't know is refused, as Stripe does. */
export const text = z.string().max(5000)
export const filled = text.min(1)
export const whole = z
  .string()
  .regex(/^\d{1,15}$/, 'Invalid integer')
  .transform(Number)
export const flag = z.enum(['true', 'false']).transform((word) => word === 'true')
export const decimal = z.string().regex(/^\d{1,15}(\.\d{1,12})?$/, 'Invalid decimal')
export const currency = z.string().regex(/^[a-z]{3}$/, 'Invalid currency')
export const metadata = z.record(z.string(), text)
export const range = z
  .strictObject({ gt: whole.optional(), gte: whole.optional(), lt: whole.optional(), lte: whole.optional() })
  .transform((bounds) =>
    Object.fromEntries(Object.entries(bounds).filter(([, bound]) => bound !== undefined)),
  )
export const paging = {
  limit: whole.pipe(z.number().min(1).max(100)).optional(),
  starting_after: filled.optional(),
}

/** The parameters as a route takes them; throws what Stripe answers to wrong ones. */
export function parseParameters<Schema extends z.ZodType>(schema: Schema, given: unknown): z.output<Schema> {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  throw toParameterError(parsed.error.issues[0])
}

function toParameterError(issue: z.core.$ZodIssue | undefined): SandboxError {
  if (issue === undefined) return invalid('Invalid request.')
  if (issue.code === 'unrecognized_keys') {
    const name = toName([...issue.path, issue.keys[0] ?? ''])
    return invalid(`Received unknown parameter: ${name}`, name, 'parameter_unknown')
  }
  const name = toName(issue.path)
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined')) {
    return invalid(`Missing required param: ${name}.`, name, 'parameter_missing')
  }
  return invalid(`Invalid ${name}: ${issue.message}`, name)
}

/** `items[0][price]`, as it stands in the form. */
function toName([first, ...rest]: PropertyKey[]): string {
  return String(first ?? '') + rest.map((part) => `[${String(part)}]`).join('')
}
