/** Changes of the installation's catalog by an operator, which take effect at once. */

import { ApplicationError } from '../../base/errors.ts'
import type { Actor } from '../../base/viewer.ts'
import type { DatabaseTransaction } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import type { AuditAction } from '../audit/actions.ts'
import { recordAction } from '../audit/record-action.ts'
import {
  addInstallationModel,
  enableInstallationModel,
  listInstallationModels,
  removeInstallationModel,
} from '../catalog/installation-models.ts'
import { requireFreeName } from '../catalog/own-model-changes.ts'
import { buildModel, defaultModelName } from '../own-models/build-model.ts'
import { parseRepositoryName } from '../own-models/repository-name.ts'

type Deps = Pick<Services, 'db' | 'config'>

/** The models of the installation, with disabled ones, for a table. */
export async function listCatalog({ db }: Pick<Services, 'db'>) {
  return (await listInstallationModels(db)).map(({ id, model_name, enabled, entry: { source } }) => ({
    id,
    name: model_name,
    enabled,
    source:
      source.kind === 'huggingface' ? `${source.repository} at ${source.commit.slice(0, 7)}` : 'catalog file',
  }))
}

/** Adds a repository's model for all organizations, read with `HF_TOKEN`. Throws an import's errors. */
export async function importCatalogModel(
  deps: Deps & Pick<Services, 'hub' | 'runtimes' | 'modelStore' | 'secretKey'>,
  operator: Actor,
  text: string,
  given: { name?: string | undefined; revision?: string | undefined },
): Promise<string> {
  requireChangeable(deps)
  const address = parseRepositoryName(text)
  if (address === null) {
    throw new ApplicationError(
      'repository_not_found',
      'Name a repository as owner/name, or the URL of its page.',
    )
  }
  const { token } = deps.config.huggingFace
  const modelName = given.name ?? defaultModelName(address.name)
  const revision = given.revision ?? address.revision ?? 'main'
  await requireFreeName(deps.db, null, modelName)
  const model = await buildModel(deps, null, {
    name: address.name,
    revision,
    token,
    modelName,
    baseModel: undefined,
  })
  await deps.db.transaction().execute(async (transaction) => {
    await addInstallationModel(transaction, model)
    await record(transaction, operator, 'model.imported', { id: model.id, model_name: modelName })
  })
  return modelName
}

/** Shows or hides a model. Running deployments go on. */
export async function enableCatalogModel(
  deps: Deps,
  operator: Actor,
  name: string,
  enabled: boolean,
): Promise<void> {
  requireChangeable(deps)
  await deps.db.transaction().execute(async (transaction) => {
    const model = await enableInstallationModel(transaction, name, enabled)
    await record(transaction, operator, 'model.updated', model, { enabled })
  })
}

/** Removes a model that an operator added. Running deployments go on. */
export async function removeCatalogModel(deps: Deps, operator: Actor, name: string): Promise<void> {
  requireChangeable(deps)
  await deps.db.transaction().execute(async (transaction) => {
    await record(transaction, operator, 'model.deleted', await removeInstallationModel(transaction, name))
  })
}

function requireChangeable({ config }: Pick<Services, 'config'>): void {
  if (!config.hasOwnCatalog) return
  throw new ApplicationError(
    'catalog_model',
    `CATALOG_FILE decides which models the installation has. Change ${config.catalogFile} and restart.`,
  )
}

async function record(
  transaction: DatabaseTransaction,
  operator: Actor,
  action: AuditAction,
  { id, model_name: name }: { id: string; model_name: string },
  details: Record<string, unknown> = {},
): Promise<void> {
  await recordAction(transaction, operator, action, {
    target: { type: 'model', id, name },
    details: { ...details, operator: operator.email },
  })
}
