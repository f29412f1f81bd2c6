declare module '../../database/tables.ts' {
  interface Tables {
    hub_tokens: HubTokensTable
  }
}

export interface HubTokensTable {
  organization_id: number
  /** Encrypted by `encryptSecret` */
  token: Buffer
}
