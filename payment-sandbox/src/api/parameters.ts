import { z } from 'zod'
import { invalid } from '../errors.ts'
import type { SandboxError } from '../errors.ts'

/** Types of form parameters, which arrive as text. */
export const text = z.string().max(5000)
export const filled = text.min(1)
export const whole = z
  .string()
  .regex(/^\d{1,15}$/, 'Invalid integer')
  .transform(Number)
export const decimal = z.string().regex(/^\d{1,15}(\.\d{1,12})?$/, 'Invalid decimal')
export const currency = z.string().regex(/^[a-z]{3}$/, 'Invalid currency')
export const metadata = z.record(z.string(), text)
export const paging = {
  limit: whole.pipe(z.number().min(1).max(100)).default(10),
  starting_after: filled.optional(),
}

/** Throws Stripe's error for the first parameter that is missing, invalid or unknown. */
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

/** The name in the form's syntax: `items[0][price]`. */
function toName([first, ...rest]: PropertyKey[]): string {
  return String(first ?? '') + rest.map((part) => `[${String(part)}]`).join('')
}
