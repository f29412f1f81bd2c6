import type { JSONColumnType } from 'kysely'
import type { DefaultedTimestamp } from '../../database/tables.ts'
import type { ModelType } from '../../ports/model-runtime.ts'
import type { CatalogModel } from './catalog-file.ts'

declare module '../../database/tables.ts' {
  interface Tables {
    deployable_models: DeployableModelsTable
  }
}

export interface DeployableModelsTable {
  id: string
  model_name: string
  model_type: ModelType
  provider: string
  enabled: boolean
  sort_order: number
  entry: JSONColumnType<CatalogModel>
  created_at: DefaultedTimestamp
  updated_at: DefaultedTimestamp
}
