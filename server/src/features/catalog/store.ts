import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import { escapeLike } from '../../database/escape-like.ts'
import type { Database } from '../../database/tables.ts'
import type { CatalogModel } from './model.ts'
import { parseStoredModel } from './stored-model.ts'
import type { DeployableModelsTable } from './tables.ts'

/** A row of the catalog with its parsed entry. */
export type StoredModel = Omit<Selectable<DeployableModelsTable>, 'entry'> & { entry: CatalogModel }

/** An organization sees its models and those of the installation; `null` sees only the latter. */
function selectVisible(db: Database, organizationId: number | null) {
  const models = db.selectFrom('deployable_models')
  if (organizationId === null) return models.where('organization_id', 'is', null)
  return models.where((where) =>
    where.or([where('organization_id', 'is', null), where('organization_id', '=', organizationId)]),
  )
}

export interface ModelFilter {
  enabledOnly: boolean
  /** An unknown type matches no model */
  modelType: string
  provider?: string | undefined
  /** Words that must all occur in the name, display name, family, description or tags, case-insensitive */
  query?: string | undefined
}

export async function listModels(
  db: Database,
  organizationId: number,
  filter: ModelFilter,
): Promise<StoredModel[]> {
  let query = selectVisible(db, organizationId)
    .selectAll()
    .where(sql<string>`model_type`, '=', filter.modelType)
    .orderBy('sort_order')
    .orderBy('model_name')
  if (filter.enabledOnly) query = query.where('enabled', '=', true)
  if (filter.provider !== undefined && filter.provider !== '') {
    query = query.where(sql`lower(provider)`, '=', sql<string>`lower(${filter.provider})`)
  }
  for (const word of (filter.query ?? '').split(/\s+/).filter((part) => part !== '')) {
    query = query.where(searchedText, 'like', sql<string>`'%' || lower(${escapeLike(word)}) || '%'`)
  }
  return (await query.execute()).map(parseRow)
}

const searchedText = sql<string>`lower(concat_ws(' ', model_name, entry->>'displayName', entry->>'family',
  entry->>'description', (SELECT string_agg(tag, ' ') FROM jsonb_array_elements_text(entry->'tags') AS tag)))`

export async function findModelById(
  db: Database,
  organizationId: number,
  id: string,
  enabledOnly: boolean,
): Promise<StoredModel | undefined> {
  const query = selectVisible(db, organizationId).selectAll().where('id', '=', id)
  const row = await (enabledOnly ? query.where('enabled', '=', true) : query).executeTakeFirst()
  return row && parseRow(row)
}

/** Ignores case; prefers exact spelling, names to ids, and organizations' models to the installation's. */
export async function findModelByName(
  db: Database,
  organizationId: number | null,
  name: string,
  enabledOnly: boolean,
): Promise<StoredModel | undefined> {
  const query = selectVisible(db, organizationId)
    .selectAll()
    .where(sql<boolean>`lower(${name}) IN (lower(model_name), lower(id))`)
    .orderBy(sql`model_name = ${name}`, 'desc')
    .orderBy(sql`id = ${name}`, 'desc')
    .orderBy(sql`lower(model_name) = lower(${name})`, 'desc')
    .orderBy('enabled', 'desc')
    .orderBy(sql`organization_id IS NULL`)
    .orderBy('sort_order')
  const row = await (enabledOnly ? query.where('enabled', '=', true) : query).executeTakeFirst()
  return row && parseRow(row)
}

/** The enabled models that an organization sees; only those of the installation for `null`. */
export async function listEnabledEntries(
  db: Database,
  organizationId: number | null,
): Promise<CatalogModel[]> {
  const rows = await selectVisible(db, organizationId)
    .select(['id', 'entry'])
    .where('enabled', '=', true)
    .orderBy('sort_order')
    .orderBy('model_name')
    .execute()
  return rows.map(parseStoredModel)
}

/** The models of the installation, in catalog order, with disabled ones. */
export async function listInstallationRows(db: Database): Promise<StoredModel[]> {
  const rows = await selectVisible(db, null).selectAll().orderBy('sort_order').orderBy('model_name').execute()
  return rows.map(parseRow)
}

function parseRow(row: Selectable<DeployableModelsTable>): StoredModel {
  return { ...row, entry: parseStoredModel(row) }
}
