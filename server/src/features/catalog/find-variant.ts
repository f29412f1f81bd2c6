import { ApplicationError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import { listMatchingVariants } from './model.ts'
import type { CatalogModel, VariantChoice } from './model.ts'
import { findModelByName, listEnabledEntries } from './store.ts'

/** Finds the enabled model of a request. Throws `model_not_deployable` if it doesn't exist or has no such variant. */
export async function findRequestedModel(
  { db }: Pick<Services, 'db'>,
  { modelName, ...choice }: { modelName: string } & VariantChoice,
): Promise<CatalogModel> {
  const model = await findModelByName(db, modelName, true)
  if (model === undefined) {
    throw new ApplicationError(
      'model_not_deployable',
      `The catalog has no model called ${JSON.stringify(modelName.slice(0, 200))}. List the models with GET /api/v1/deployable-models.`,
    )
  }
  if (listMatchingVariants(model.entry, choice).length === 0) {
    throw new ApplicationError(
      'model_not_deployable',
      `The catalog does not offer ${model.model_name} in the requested format, size and quantization. Choose one of its variants.`,
    )
  }
  return model.entry
}

/** Resolves to how the catalog spells the name or id of a model, enabled or not; null for an unknown one. */
export async function findCatalogName(
  { db }: Pick<Services, 'db'>,
  modelName: string,
): Promise<string | null> {
  return (await findModelByName(db, modelName, false))?.model_name ?? null
}

/** The enabled models with their variants, in catalog order. */
export function listDeployableModels({ db }: Pick<Services, 'db'>): Promise<CatalogModel[]> {
  return listEnabledEntries(db)
}
