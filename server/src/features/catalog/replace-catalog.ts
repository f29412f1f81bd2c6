import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'
import type { CatalogModel } from './model.ts'
import { serializeModel } from './stored-model.ts'

/** Synchronizes the table with the catalog file. Models that are no longer in the file are disabled. */
export async function replaceCatalog(db: Database, models: readonly CatalogModel[]): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await sql`LOCK TABLE deployable_models IN SHARE ROW EXCLUSIVE MODE`.execute(transaction)
    // Disable first, so that a name can move from one model to another.
    const kept = models.map((model) => sql`(${model.id}, ${model.modelName})`)
    await transaction
      .updateTable('deployable_models')
      .set({ enabled: false, updated_at: sql`now()` })
      .where('enabled', '=', true)
      .where(sql<boolean>`(id, model_name) NOT IN (${sql.join(kept)})`)
      .execute()
    for (const model of models) {
      const row = {
        model_name: model.modelName,
        model_type: model.modelType,
        provider: model.provider,
        enabled: model.enabled,
        sort_order: model.sortOrder,
        entry: serializeModel(model),
      }
      await transaction
        .insertInto('deployable_models')
        .values({ id: model.id, ...row })
        .onConflict((conflict) =>
          conflict
            .column('id')
            .doUpdateSet({ ...row, updated_at: sql`now()` })
            .where((where) =>
              where.or([
                where('deployable_models.entry', 'is distinct from', sql`excluded.entry`),
                where('deployable_models.enabled', 'is distinct from', sql<boolean>`excluded.enabled`),
              ]),
            ),
        )
        .execute()
    }
  })
}
