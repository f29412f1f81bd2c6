import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { CatalogModel } from './model.ts'
import { serializeModel } from './stored-model.ts'

/** Disables models that the file lacks. With `keepsChanges`, operators' additions and choices stay. */
export async function replaceCatalog(
  db: Database,
  models: readonly CatalogModel[],
  { keepsChanges }: { keepsChanges: boolean },
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await sql`LOCK TABLE deployable_models IN SHARE ROW EXCLUSIVE MODE`.execute(transaction)
    // Disable first, so that a name can move from one model to another.
    const kept = models.map((model) => sql`(${model.id}, ${model.modelName})`)
    const names = models.map(({ modelName }) => modelName)
    await transaction
      .updateTable('deployable_models')
      .set({ enabled: false, updated_at: sql`now()` })
      .where('organization_id', 'is', null)
      .where('enabled', '=', true)
      .where(sql<boolean>`(id, model_name) NOT IN (${sql.join(kept)})`)
      // The file takes a name back from a model that an operator added.
      .where(
        sql<boolean>`NOT (${keepsChanges} AND entry->'source'->>'kind' <> 'catalog' AND model_name NOT IN (${sql.join(names)}))`,
      )
      .execute()
    // One statement: a round trip for each model would take a third of a start.
    const enabled = keepsChanges
      ? sql<boolean>`coalesce(deployable_models.operator_enabled, excluded.enabled)`
      : sql<boolean>`excluded.enabled`
    const columns = ['model_name', 'model_type', 'provider', 'enabled', 'sort_order', 'entry'] as const
    await transaction
      .insertInto('deployable_models')
      .values(models.map(toRow))
      .onConflict((conflict) =>
        conflict
          .column('id')
          .doUpdateSet((set) => ({
            ...Object.fromEntries(columns.map((column) => [column, set.ref(`excluded.${column}`)])),
            enabled,
            updated_at: sql`now()`,
          }))
          .where((where) =>
            where.or([
              where('deployable_models.entry', 'is distinct from', sql`excluded.entry`),
              where('deployable_models.enabled', 'is distinct from', enabled),
            ]),
          ),
      )
      .execute()
  })
}

function toRow(model: CatalogModel) {
  return {
    id: model.id,
    model_name: model.modelName,
    model_type: model.modelType,
    provider: model.provider,
    enabled: model.enabled,
    sort_order: model.sortOrder,
    entry: serializeModel(model),
  }
}
