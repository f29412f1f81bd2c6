import { ApplicationError } from '../../base/errors.ts'
import { nameFormat } from '../../base/format-names.ts'
import type { EngineFailure } from '../../ports/engine-failures.ts'
import type { WeightCache } from '../../ports/model-runtime.ts'
import type { ModelVariant } from '../../ports/model-variant.ts'
import type { Services } from '../../services.ts'
import { findCatalogModel } from '../catalog/find-variant.ts'
import { findVariant, listMatchingVariants } from '../catalog/model.ts'
import type { CatalogModel, VariantChoice } from '../catalog/model.ts'
import { findWeightToken } from '../own-models/hub-tokens.ts'
import { readDefaults } from '../placement/plan.ts'

type Deps = Pick<Services, 'db' | 'runtimes' | 'clock' | 'config' | 'log' | 'prices' | 'secretKey'>

/** A model or a LoRA of the installation, or one that an organization sees, and which of its variants. */
export interface PrefetchRequest {
  modelName: string
  organizationId: number | null
  choice: VariantChoice
}

export interface Prefetch {
  variant: ModelVariant
  /** null once all files are there */
  failure: EngineFailure | null
}

/**
 * Downloads the missing weights of the variant that a deployment would get. Throws `not_found`, and
 * `model_not_deployable` for weights that no engine here loads or that need no download.
 */
export async function prefetchWeights(
  deps: Deps,
  cache: WeightCache,
  { modelName, organizationId, choice }: PrefetchRequest,
  onProgress: (message: string) => void,
): Promise<Prefetch> {
  const model = await findCatalogModel(deps, organizationId, modelName)
  const variant = await chooseDownload(deps, model, choice)
  const { weights } = variant
  if (weights.kind === 'file' || weights.kind === 'upload') {
    throw refuse(`${model.modelName} needs no download: its file is on the disk of the server.`)
  }
  const hubToken = organizationId === null ? undefined : await findWeightToken(deps, organizationId, weights)
  return { variant, failure: await cache.fetch(variant, { hubToken, onProgress }) }
}

async function chooseDownload(deps: Deps, model: CatalogModel, choice: VariantChoice): Promise<ModelVariant> {
  if (listMatchingVariants(model, choice).length === 0) {
    const names = model.variants.map(nameVariant).join(', ')
    throw refuse(`${model.modelName} has no such variant. It has ${names}.`)
  }
  const isLora = model.lora !== undefined
  const chosen = isLora ? findVariant(model, choice)! : (await readDefaults(deps))(model, choice)
  const isLoaded = deps.runtimes.engines.some(({ formats, loras }) =>
    isLora ? loras?.format === chosen.format : formats.includes(chosen.format),
  )
  if (!isLoaded) throw refuse(`No engine of this server loads ${nameVariant(chosen)}.`)
  return chosen
}

/** Such as `0.6B GGUF Q8_0`, as the options of the command name it */
function nameVariant({ sizeInBillions, format, quantization }: ModelVariant): string {
  return `${sizeInBillions}B ${nameFormat(format)} ${quantization}`
}

function refuse(message: string): ApplicationError {
  return new ApplicationError('model_not_deployable', message)
}
