declare module '../../database/tables.ts' {
  interface Tables {
    service_passwords: ServicePasswordsTable
  }
}

export interface ServicePasswordsTable {
  user_id: number
  digest: Buffer
  created_at: Date
  ends_at: Date | null
}
