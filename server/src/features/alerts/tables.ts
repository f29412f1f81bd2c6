import type { ColumnType, Generated } from 'kysely'

declare module '../../database/tables.ts' {
  interface Tables {
    webhooks: WebhooksTable
    webhook_messages: WebhookMessagesTable
  }
}

export interface WebhooksTable {
  organization_id: number
  url: string
  secret_nonce: string
  created_at: Date
  updated_at: Date
}

/** The recipient: the operator, or the webhook of the organization. */
export type AlertDestination = 'operator' | 'organization'

export interface WebhookMessagesTable {
  id: string
  organization_id: number
  destination: AlertDestination
  type: ColumnType<string, string, never>
  /** The body, byte for byte the same in each attempt */
  body: ColumnType<string, string, never>
  status: Generated<'pending' | 'delivered' | 'failed'>
  attempts: Generated<number>
  last_error: string | null
  created_at: ColumnType<Date, Date, never>
  finished_at: Date | null
}
