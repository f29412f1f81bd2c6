import { createHash } from 'node:crypto'

/** A key derived from the parameters: two processes that publish at the same moment create one object. */
export function idempotencyKeyFor(parameters: object): { idempotencyKey: string } {
  return { idempotencyKey: `berth-${createHash('sha256').update(JSON.stringify(parameters)).digest('hex')}` }
}
