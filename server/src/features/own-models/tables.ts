import type { Generated } from 'kysely'

declare module '../../database/tables.ts' {
  interface Tables {
    hub_tokens: HubTokensTable
    model_uploads: ModelUploadsTable
  }
}

export interface HubTokensTable {
  organization_id: number
  /** Encrypted by `encryptSecret` */
  token: Buffer
}

/** `receiving` until all bytes are here and checked, then `complete` until a model uses the file. */
export type UploadStatus = 'receiving' | 'complete' | 'used'

export interface ModelUploadsTable {
  id: string
  organization_id: number
  file_name: string
  bytes: number
  received: Generated<number>
  status: Generated<UploadStatus>
  announced_hash: string | null
  sha256: string | null
  model_id: string | null
  folder: string | null
  writer: string | null
  leased_until: Date | null
  created_at: Date
  expires_at: Date
}
