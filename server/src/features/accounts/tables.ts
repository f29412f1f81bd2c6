import type { Generated } from 'kysely'
import type { DefaultedTimestamp } from '../../database/tables.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    users: UsersTable
    sessions: SessionsTable
    password_resets: PasswordResetsTable
    email_verifications: EmailVerificationsTable
    known_networks: KnownNetworksTable
    totp_factors: TotpFactorsTable
    recovery_codes: RecoveryCodesTable
    passkeys: PasskeysTable
    passkey_challenges: PasskeyChallengesTable
    rate_limits: RateLimitsTable
  }
}

export interface UsersTable {
  id: Generated<number>
  email: string
  email_verified_at: Date | null
  password_hash: string | null
  name: string
  first_name: string | null
  last_name: string | null
  country: string | null
  contact_number: string | null
  current_organization_id: number
  profile_incomplete: Generated<boolean>
  disabled_at: Date | null
  deleted_at: Date | null
  created_at: DefaultedTimestamp
  updated_at: DefaultedTimestamp
}

export interface SessionsTable {
  id: Generated<number>
  token_hash: Buffer
  user_id: number
  auth_method: string
  address: string | null
  user_agent: string | null
  /** null for sessions from before the column existed */
  last_seen_at: Date | null
  created_at: Date
  renewed_at: Date
  expires_at: Date
  ends_at: Date | null
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

export interface KnownNetworksTable {
  user_id: number
  network: string
  last_seen_at: Date
}

export interface TotpFactorsTable {
  user_id: number
  /** Encrypted by `encryptSecret` */
  secret: Buffer
  created_at: Date
  /** null until the first code was entered */
  confirmed_at: Date | null
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
  purpose: 'registration' | 'sign_in'
  expires_at: Date
}

/** Counters of attempts. `expire` is the end of the window in milliseconds since 1970. */
export interface RateLimitsTable {
  key: string
  points: Generated<number>
  expire: number | null
}
