import type { Generated } from 'kysely'

declare module '../../database/tables.ts' {
  interface Tables {
    secret_key_fingerprints: SecretKeyFingerprintsTable
  }
}

/** At most one row */
export interface SecretKeyFingerprintsTable {
  only_row: Generated<boolean>
  fingerprint: Buffer
}
