import type { z } from 'zod'
import { invalid } from './errors.ts'
import { explainIssue } from './explain-issue.ts'
import { isTooDeep } from './json-depth.ts'

/** Validates a body. Throws a RequestError (400) that names the first invalid field. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  if (isTooDeep(body)) throw invalid('', 'The request body is nested too deeply.')
  const result = schema.safeParse(body, { error: explainIssue })
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const path = (issue?.path ?? []).map(String).join('.').slice(0, 200)
  throw invalid(path, path === '' ? 'The request body must be a JSON object.' : `${path}: ${issue?.message}.`)
}
