import type { z } from 'zod'

const kinds: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a text',
}

/** Says what a field must be, as the rest of a sentence. A schema's own words come first. */
export function explainIssue(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined) return 'is required'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${listOptions(issue.values)}`
    case 'invalid_union':
      return Array.isArray(issue['options']) ? `must be ${listOptions(issue['options'])}` : 'is not valid'
    case 'too_small':
      return explainLimit(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
    case 'too_big':
      return explainLimit(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
    default:
      return 'is not valid'
  }
}

function explainLimit(origin: string, words: string, limit: number | bigint): string {
  if (origin === 'string') return `must have ${words} ${limit} characters`
  return origin === 'array' ? `must have ${words} ${limit} items` : `must be ${words} ${limit}`
}

function listOptions(options: readonly unknown[]): string {
  const texts = options.map(String)
  const last = texts.pop() ?? ''
  return texts.length === 0 ? last : `${texts.join(', ')} or ${last}`
}
