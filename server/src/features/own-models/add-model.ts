import { sql } from 'kysely'
import { ApplicationError } from '../../base/errors.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import { holdNames } from '../catalog/hold-names.ts'
import type { CatalogModel } from '../catalog/model.ts'
import { addOwnModel } from '../catalog/own-model-changes.ts'
import type { StoredModel } from '../catalog/own-model-changes.ts'

/** Adds an organization's model. Throws `model_name_taken` for the name of another one, and for an alias. */
export async function addModel(
  transaction: DatabaseTransaction,
  organizationId: number,
  model: CatalogModel,
  managedBy: string | null,
): Promise<StoredModel> {
  const { modelName } = model
  await holdNames(transaction, organizationId)
  const aliased = await transaction
    .selectFrom('deployments')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where(sql<boolean>`lower(alias) = ${modelName.toLowerCase()}`)
    .where('status', 'not in', ['terminating', 'terminated'])
    .limit(1)
    .executeTakeFirst()
  if (aliased !== undefined) {
    const message = `A deployment has the alias ${modelName}, so requests by this name would reach it. Choose another model_name.`
    throw new ApplicationError('model_name_taken', message)
  }
  return addOwnModel(transaction, organizationId, model, managedBy)
}
