import { ApplicationError, NotFoundError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import { listMatchingVariants } from './model.ts'
import type { CatalogModel, VariantChoice } from './model.ts'
import { findModelById, findModelByName, listEnabledEntries } from './store.ts'

/** Finds an enabled model that the organization sees, with a variant. Throws `model_not_deployable`. */
export async function findRequestedModel(
  { db }: Pick<Services, 'db'>,
  organizationId: number,
  { modelName, ...choice }: { modelName: string } & VariantChoice,
): Promise<CatalogModel> {
  const model = await findModelByName(db, organizationId, modelName, true)
  if (model === undefined) {
    throw new ApplicationError(
      'model_not_deployable',
      `The catalog has no model called ${JSON.stringify(modelName.slice(0, 200))}.`,
    )
  }
  const { lora } = model.entry
  if (lora !== undefined) {
    throw new ApplicationError(
      'model_not_deployable',
      `${model.model_name} is a LoRA of ${lora.baseModelName}. Deploy ${lora.baseModelName}, then add the LoRA to the deployment.`,
    )
  }
  if (listMatchingVariants(model.entry, choice).length === 0) {
    throw new ApplicationError(
      'model_not_deployable',
      `The catalog does not offer ${model.model_name} in the requested format, size and quantization. It offers ${describeVariants(model.entry)}.`,
    )
  }
  return model.entry
}

/** The variants of a model by size and format, such as `0.5B ggufv2 (q4_0, q8_0)`. */
function describeVariants({ variants }: CatalogModel): string {
  const groups = Map.groupBy(variants, ({ sizeInBillions, format }) => `${sizeInBillions}B ${format}`)
  const described = Array.from(
    groups,
    ([name, group]) => `${name} (${group.map(({ quantization }) => quantization).join(', ')})`,
  )
  return new Intl.ListFormat('en').format(described)
}

/** Resolves to the enabled model with this id, if the organization sees it; otherwise to null. */
export async function findVisibleModel(
  { db }: Pick<Services, 'db'>,
  organizationId: number,
  id: string,
): Promise<CatalogModel | null> {
  return (await findModelById(db, organizationId, id, true))?.entry ?? null
}

/** Finds a model, enabled or not, that an organization sees or the installation has (`null`). */
export async function findCatalogModel(
  { db }: Pick<Services, 'db'>,
  organizationId: number | null,
  name: string,
): Promise<CatalogModel> {
  const model = await findModelByName(db, organizationId, name, false)
  if (model !== undefined) return model.entry
  throw new NotFoundError(`The catalog has no model ${JSON.stringify(name)}.`)
}

/** Resolves to how the catalog spells the name or id of a model, enabled or not; null for an unknown one. */
export async function findCatalogName(
  { db }: Pick<Services, 'db'>,
  organizationId: number,
  modelName: string,
): Promise<string | null> {
  return (await findModelByName(db, organizationId, modelName, false))?.model_name ?? null
}

/** Enabled models that an organization sees or the installation has (`null`); LoRAs aren't deployed alone. */
export async function listDeployableModels(
  deps: Pick<Services, 'db'>,
  organizationId: number | null,
): Promise<CatalogModel[]> {
  return (await listModelsAndLoras(deps, organizationId)).filter(({ lora }) => lora === undefined)
}

/** Like `listDeployableModels`, with the LoRAs. */
export async function listModelsAndLoras(
  { db }: Pick<Services, 'db'>,
  organizationId: number | null,
): Promise<CatalogModel[]> {
  return listEnabledEntries(db, organizationId)
}
