declare module '../../database/tables.ts' {
  interface Tables {
    idempotency_keys: IdempotencyKeysTable
  }
}

export interface IdempotencyKeysTable {
  user_id: number
  key: string
  request_hash: Buffer
  attempt: string
  attempted_at: Date
  /** Encrypted by `encryptSecret`; null while the request runs */
  response: Buffer | null
  created_at: Date
}
