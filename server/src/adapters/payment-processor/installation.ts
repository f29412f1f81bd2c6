import { deriveKey } from '../../base/derive-key.ts'

/** The name of this installation in a shared account of the processor. It changes with `secretKey`. */
export function installationOf(secretKey: string): string {
  return deriveKey(secretKey, 'installation').toString('hex').slice(0, 12)
}
