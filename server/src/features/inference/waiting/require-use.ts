import { ApplicationError } from '../../../base/errors.ts'
import { findMembers, memberNames } from '../../../gateway/json-walk.ts'
import type { InferenceRequest } from '../arrival/request-body.ts'
import { refuseField } from '../protocols/fields.ts'
import type { Protocol } from '../protocols/protocol.ts'

/**
 * Throws the caller's error for a request that is no reason to wake a deployment: one that only counts
 * tokens, or that every engine refuses.
 */
export function requireUse(
  { body }: Pick<InferenceRequest, 'body'>,
  { bodies, input }: Pick<Protocol, 'bodies' | 'input'>,
  modelName: string,
): void {
  if (bodies.usageAt === null) {
    const message = `${modelName} sleeps, and counting tokens does not wake it. Send it a request first.`
    throw new ApplicationError('deployment_not_ready', message, 60)
  }
  if (input === undefined) return
  const { member, mayBeText } = input
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body
  const { start, end } = findMembers(bytes, memberNames([], [member])).at(-1) ?? { start: 0, end: 0 }
  const value = bytes.toString('latin1', start, Math.min(end, start + 1024))
  const isList = value.startsWith('[') && !/^\[\s*\]/.test(value)
  if (isList || (mayBeText && value.startsWith('"'))) return
  throw refuseField(member, `must be ${mayBeText ? 'a text, or ' : ''}a list that is not empty.`)
}
