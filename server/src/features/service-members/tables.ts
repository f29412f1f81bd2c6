declare module '../../database/tables.ts' {
  interface Tables {
    service_passwords: ServicePasswordsTable
  }
}

export interface ServicePasswordsTable {
  user_id: number
  digest: Buffer
  ends_at: Date | null
}
