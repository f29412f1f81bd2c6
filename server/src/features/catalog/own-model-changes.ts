/** Changes of the models that belong to organizations. */

import { sql } from 'kysely'
import { ApplicationError, NotFoundError } from '../../base/errors.ts'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import type { CatalogModel } from './model.ts'
import { serializeModel } from './stored-model.ts'
import { findModelById, findModelByName } from './store.ts'
import type { StoredModel } from './store.ts'

export type { StoredModel }

export type ModelChanges = {
  [Name in 'displayName' | 'description' | 'tags' | 'enabled' | 'sortOrder']?: CatalogModel[Name] | undefined
}

/** Adds an organization's model. Throws `model_name_taken` if it sees this name or id, in any case. */
export async function addOwnModel(
  transaction: DatabaseTransaction,
  organizationId: number,
  model: CatalogModel,
  managedBy: string | null,
): Promise<StoredModel> {
  await insertModel(transaction, organizationId, model, managedBy)
  return (await findModelById(transaction, organizationId, model.id, false))!
}

/** Adds a model of an organization, or of the installation for `null`. Throws `model_name_taken`. */
export async function insertModel(
  transaction: DatabaseTransaction,
  organizationId: number | null,
  model: CatalogModel,
  managedBy: string | null = null,
): Promise<void> {
  await sql`LOCK TABLE deployable_models IN SHARE ROW EXCLUSIVE MODE`.execute(transaction)
  await requireFreeName(transaction, organizationId, model.modelName)
  await transaction
    .insertInto('deployable_models')
    .values({ ...toColumns(model), id: model.id, organization_id: organizationId, managed_by: managedBy })
    .execute()
}

/** Throws `model_name_taken` if the organization sees a model with this name or id, in any case. */
export async function requireFreeName(
  db: Database,
  organizationId: number | null,
  modelName: string,
): Promise<void> {
  if ((await findModelByName(db, organizationId, modelName, false)) === undefined) return
  throw new ApplicationError(
    'model_name_taken',
    `The catalog has a model called ${JSON.stringify(modelName)}. Choose another model_name.`,
  )
}

/** Finds an organization's model. Throws `not_found`, and `catalog_model` for the installation's. */
export async function findOwnModel(db: Database, organizationId: number, id: string): Promise<StoredModel> {
  const model = await findModelById(db, organizationId, id, false)
  if (model === undefined) throw new NotFoundError('Model not found.')
  if (model.organization_id !== null) return model
  throw new ApplicationError('catalog_model', 'Only the operator can change the models of the catalog file.')
}

/** Changes a model of the organization; resolves to it and the values before. Throws like `findOwnModel`. */
export async function changeOwnModel(
  transaction: DatabaseTransaction,
  organizationId: number,
  id: string,
  changes: ModelChanges,
): Promise<{ model: StoredModel; before: ModelChanges }> {
  await lockOwnModel(transaction, organizationId, id)
  const { entry } = await findOwnModel(transaction, organizationId, id)
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
  await transaction
    .updateTable('deployable_models')
    .set({ ...toColumns({ ...entry, ...given }), updated_at: sql`now()` })
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .execute()
  const before = Object.fromEntries(
    Object.keys(given).map((name) => [name, entry[name as keyof ModelChanges]]),
  )
  return { model: await findOwnModel(transaction, organizationId, id), before }
}

/** Removes a model of the organization and resolves to it. Throws like `findOwnModel`. */
export async function removeOwnModel(
  transaction: DatabaseTransaction,
  organizationId: number,
  id: string,
): Promise<StoredModel> {
  await lockOwnModel(transaction, organizationId, id)
  const model = await findOwnModel(transaction, organizationId, id)
  await transaction
    .deleteFrom('deployable_models')
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .execute()
  return model
}

async function lockOwnModel(
  transaction: DatabaseTransaction,
  organizationId: number,
  id: string,
): Promise<void> {
  await transaction
    .selectFrom('deployable_models')
    .select('id')
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .forUpdate()
    .execute()
}

function toColumns(model: CatalogModel) {
  return {
    model_name: model.modelName,
    model_type: model.modelType,
    provider: model.provider,
    enabled: model.enabled,
    sort_order: model.sortOrder,
    entry: serializeModel(model),
  }
}
