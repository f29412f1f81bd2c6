import type { ColumnType } from 'kysely'
import type { ModelType } from '../../ports/model-variant.ts'
import type { TokenPrices } from '../../base/price.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    endpoints: EndpointsTable
  }
}

/** `refused`: it rejects the key. `invalid`: what answers doesn't speak the protocol. */
export const endpointStatuses = ['ready', 'unreachable', 'refused', 'invalid'] as const
export type EndpointStatus = (typeof endpointStatuses)[number]

/** A model that an endpoint serves. */
export interface EndpointModel {
  name: string
  type: ModelType
  /** The longest request, in tokens; null if the endpoint doesn't say */
  context_tokens: number | null
}

/** A column of JSON, written as text. */
type Json<Value> = ColumnType<Value, string, string>

export interface EndpointsTable {
  id: ColumnType<string, string, never>
  organization_id: ColumnType<number, number, never>
  name: string
  /** Without a trailing slash and without `/v1` */
  base_url: string
  header: string | null
  /** Encrypted by `encryptSecret` */
  key: Buffer | null
  chosen_models: ColumnType<EndpointModel[] | null, string | null, string | null>
  listed_models: Json<EndpointModel[]>
  prices: ColumnType<TokenPrices | null, string | null, string | null>
  status: EndpointStatus
  status_message: string | null
  checked_at: Date
  revision: string
  created_at: ColumnType<Date, Date, never>
}
