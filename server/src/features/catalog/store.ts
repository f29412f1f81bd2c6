import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { CatalogModel } from './catalog-file.ts'

export interface ModelFilter {
  enabledOnly: boolean
  /** An unknown type matches no model */
  modelType: string
  provider?: string | undefined
  /** Words that must all occur in the name, display name, family, description or tags, case-insensitive */
  query?: string | undefined
}

export function listModels(db: Database, filter: ModelFilter) {
  let query = db
    .selectFrom('deployable_models')
    .selectAll()
    .where(sql<string>`model_type`, '=', filter.modelType)
    .orderBy('sort_order')
    .orderBy('model_name')
  if (filter.enabledOnly) query = query.where('enabled', '=', true)
  if (filter.provider !== undefined) {
    query = query.where(sql`lower(provider)`, '=', sql<string>`lower(${filter.provider})`)
  }
  for (const word of (filter.query ?? '').split(/\s+/).filter((part) => part !== '')) {
    query = query.where(searchedText, 'like', sql<string>`'%' || lower(${escapeLike(word)}) || '%'`)
  }
  return query.execute()
}

const searchedText = sql<string>`lower(concat_ws(' ', model_name, entry->>'displayName', entry->>'family',
  entry->>'description', (SELECT string_agg(tag, ' ') FROM jsonb_array_elements_text(entry->'tags') AS tag)))`

function escapeLike(word: string): string {
  return word.replaceAll(/[\\%_]/g, '\\$&')
}

export function findModelById(db: Database, id: string, enabledOnly: boolean) {
  const query = db.selectFrom('deployable_models').selectAll().where('id', '=', id)
  return (enabledOnly ? query.where('enabled', '=', true) : query).executeTakeFirst()
}

export function findEnabledModelByName(db: Database, modelName: string) {
  return db
    .selectFrom('deployable_models')
    .selectAll()
    .where('model_name', '=', modelName)
    .where('enabled', '=', true)
    .executeTakeFirst()
}

export async function listEnabledEntries(db: Database): Promise<CatalogModel[]> {
  const rows = await db
    .selectFrom('deployable_models')
    .select('entry')
    .where('enabled', '=', true)
    .orderBy('sort_order')
    .orderBy('model_name')
    .execute()
  return rows.map(({ entry }) => entry)
}
