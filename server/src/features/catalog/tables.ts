import type { ColumnType } from 'kysely'
import type { DefaultedTimestamp } from '../../database/tables.ts'
import type { ModelType } from '../../ports/model-variant.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    deployable_models: DeployableModelsTable
  }
}

export interface DeployableModelsTable {
  id: string
  /** null for a model of the installation */
  organization_id: number | null
  model_name: string
  model_type: ModelType
  provider: string
  enabled: boolean
  /** What an operator decided; null for what the catalog file says */
  operator_enabled: boolean | null
  sort_order: number
  managed_by: ColumnType<string | null, string | null | undefined, never>
  /** JSON of `serializeModel`, read by `parseStoredModel` */
  entry: ColumnType<unknown, string, string>
  created_at: DefaultedTimestamp
  updated_at: DefaultedTimestamp
}
