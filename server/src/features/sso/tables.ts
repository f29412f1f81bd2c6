import type { Generated } from 'kysely'

declare module '../../database/tables.ts' {
  interface Tables {
    identities: IdentitiesTable
    sso_flows: SsoFlowsTable
    sso_sessions: SsoSessionsTable
  }
}

export interface IdentitiesTable {
  id: Generated<number>
  issuer: string
  subject: string
  user_id: number
  linked_at: Date
}

export interface SsoFlowsTable {
  cookie_hash: Buffer
  state_hash: Buffer
  nonce: string
  code_verifier: string
  return_to: string
  invitation_token_hash: Buffer | null
  expires_at: Date
}

export interface SsoSessionsTable {
  session_id: number
  user_id: number
  issuer: string
  subject: string
  sid: string | null
  id_token: Buffer | null
}
