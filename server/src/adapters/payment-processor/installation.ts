import { createHmac } from 'node:crypto'

/**
 * A name that distinguishes this installation in a shared account of the processor. It changes with
 * `secretKey`.
 */
export function installationOf(secretKey: string): string {
  return createHmac('sha256', secretKey).update('installation').digest('hex').slice(0, 12)
}
