/** Changes of the installation's catalog beside the catalog file. */

import { sql } from 'kysely'
import { ApplicationError, NotFoundError } from '../../base/errors.ts'
import type { Database, DatabaseTransaction } from '../../database/tables.ts'
import type { CatalogModel } from './model.ts'
import { insertModel } from './own-model-changes.ts'
import { findModelByName, listInstallationRows } from './store.ts'
import type { StoredModel } from './store.ts'

/** The models of the installation, in catalog order, with disabled ones. */
export function listInstallationModels(db: Database): Promise<StoredModel[]> {
  return listInstallationRows(db)
}

/** Adds a model that all organizations see. Throws `model_name_taken`. */
export function addInstallationModel(transaction: DatabaseTransaction, model: CatalogModel): Promise<void> {
  return insertModel(transaction, null, model)
}

/** Shows or hides a model of the installation, now and after the next start. Throws `not_found`. */
export async function enableInstallationModel(
  transaction: DatabaseTransaction,
  name: string,
  enabled: boolean,
): Promise<StoredModel> {
  const model = await findInstallationModel(transaction, name)
  await transaction
    .updateTable('deployable_models')
    .set({ enabled, operator_enabled: enabled, updated_at: sql`now()` })
    .where('id', '=', model.id)
    .execute()
  return model
}

/** Removes a model that an operator added. Throws `not_found`, and `catalog_model` for the file's. */
export async function removeInstallationModel(
  transaction: DatabaseTransaction,
  name: string,
): Promise<StoredModel> {
  const model = await findInstallationModel(transaction, name)
  if (model.entry.source.kind === 'catalog') {
    throw new ApplicationError(
      'catalog_model',
      `${model.model_name} is in the catalog file. Disable it instead.`,
    )
  }
  await transaction.deleteFrom('deployable_models').where('id', '=', model.id).execute()
  return model
}

async function findInstallationModel(db: Database, name: string): Promise<StoredModel> {
  const model = await findModelByName(db, null, name, false)
  if (model !== undefined) return model
  throw new NotFoundError(`The installation has no model ${JSON.stringify(name)}.`)
}
