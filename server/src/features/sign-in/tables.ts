import type { Generated } from 'kysely'

declare module '../../database/tables.ts' {
  interface Tables {
    password_resets: PasswordResetsTable
    email_verifications: EmailVerificationsTable
  }
}

export interface PasswordResetsTable {
  id: Generated<number>
  user_id: number
  nonce: string
  token_hash: Buffer
  created_at: Date
  expires_at: Date
  closed_at: Date | null
}

export interface EmailVerificationsTable {
  user_id: number
  nonce: string
  token_hash: Buffer
  expires_at: Date
}
