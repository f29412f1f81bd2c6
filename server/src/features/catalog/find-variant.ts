import type { ModelVariant } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import { findVariant } from './catalog-file.ts'
import type { CatalogModel, VariantChoice } from './catalog-file.ts'
import { findEnabledModelByName, listEnabledEntries } from './store.ts'

/** The requested variant of an enabled model, or null if the model or the variant doesn't exist. */
export async function findDeployableVariant(
  { db }: Pick<Services, 'db'>,
  modelName: string,
  choice: VariantChoice,
): Promise<ModelVariant | null> {
  const model = await findEnabledModelByName(db, modelName)
  return model === undefined ? null : findVariant(model.entry, choice)
}

/** The enabled models with their variants, in catalog order. */
export function listDeployableModels({ db }: Pick<Services, 'db'>): Promise<CatalogModel[]> {
  return listEnabledEntries(db)
}
