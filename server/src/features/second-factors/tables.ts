import type { Generated } from 'kysely'

declare module '../../database/tables.ts' {
  interface Tables {
    totp_factors: TotpFactorsTable
    recovery_codes: RecoveryCodesTable
    passkeys: PasskeysTable
    passkey_challenges: PasskeyChallengesTable
  }
}

export interface TotpFactorsTable {
  user_id: number
  /** Encrypted by `encryptTotpSecret` */
  secret: Buffer
  created_at: Date
  /** null until the first code was entered */
  verified_at: Date | null
  last_used_step: Generated<number>
}

export interface RecoveryCodesTable {
  user_id: number
  code_hash: Buffer
}

export interface PasskeysTable {
  id: Generated<number>
  user_id: number
  /** In base64url */
  credential_id: string
  public_key: Buffer
  sign_count: number
  transports: string[]
  name: string
  created_at: Date
  last_used_at: Date | null
}

export interface PasskeyChallengesTable {
  challenge_hash: Buffer
  user_id: number
  purpose: 'registration' | 'sign_in' | 'reauthentication'
  /** Only of a reauthentication */
  session_id: number | null
  expires_at: Date
}
