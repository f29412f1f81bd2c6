import { createHash } from 'node:crypto'

/** One key for one thing, so that two who publish at the same moment make it once. */
export function once(parameters: object): { idempotencyKey: string } {
  return { idempotencyKey: `berth-${createHash('sha256').update(JSON.stringify(parameters)).digest('hex')}` }
}
