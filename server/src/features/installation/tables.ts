import type { Generated } from 'kysely'

declare module '../../database/tables.ts' {
  interface Tables {
    secret_key_fingerprints: SecretKeyFingerprintsTable
    database_identities: DatabaseIdentitiesTable
  }
}

/** At most one row */
export interface SecretKeyFingerprintsTable {
  only_row: Generated<boolean>
  fingerprint: Buffer
}

/** At most one row */
export interface DatabaseIdentitiesTable {
  only_row: Generated<boolean>
  identity: string
}
