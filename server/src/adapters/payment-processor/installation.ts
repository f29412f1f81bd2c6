import { createHmac } from 'node:crypto'

/** Tells this installation from others at the same payment processor; stays the same as long as the server's key does. */
export function installationOf(secretKey: string): string {
  return createHmac('sha256', secretKey).update('installation').digest('hex').slice(0, 12)
}
