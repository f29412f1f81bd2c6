import { ApplicationError } from '../../base/errors.ts'
import type { ModelVariant } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import { findVariant } from './model.ts'
import type { CatalogModel, VariantChoice } from './model.ts'
import { findEnabledModelByName, listEnabledEntries } from './store.ts'

/** Finds the requested variant of an enabled model. Throws `model_not_deployable` if the model or the variant doesn't exist. */
export async function findRequestedVariant(
  { db }: Pick<Services, 'db'>,
  { modelName, ...choice }: { modelName: string } & VariantChoice,
): Promise<ModelVariant> {
  const model = await findEnabledModelByName(db, modelName)
  const variant = model === undefined ? null : findVariant(model.entry, choice)
  if (variant === null) {
    throw new ApplicationError(
      'model_not_deployable',
      'The catalog does not offer this model in the requested format, size and quantization. Choose one of its variants.',
    )
  }
  return variant
}

/** The enabled models with their variants, in catalog order. */
export function listDeployableModels({ db }: Pick<Services, 'db'>): Promise<CatalogModel[]> {
  return listEnabledEntries(db)
}
