import { ApplicationError } from '../../../base/errors.ts'
import { nameFormat } from '../../../base/format-names.ts'
import type { ModelAdapter } from '../../../ports/model-variant.ts'
import type { AdapterServing, RuntimeEngine } from '../../../ports/runtime-engine.ts'
import type { Services } from '../../../services.ts'
import { findEngine, findRankObstacle } from '../../catalog/engine-choice.ts'
import { findVisibleModel } from '../../catalog/find-variant.ts'
import type { CatalogModel } from '../../catalog/model.ts'
import type { Deployment } from '../state/store.ts'

type Served = Pick<
  Deployment,
  'organization_id' | 'model_name' | 'model_format' | 'model_size_in_billions' | 'adapters'
>

type AdapterEngine = RuntimeEngine & { adapters: AdapterServing }

/**
 * The adapters with these ids, as the deployment keeps them. It must be able to serve each: an adapter of its
 * model that its organization sees, in the format of its engine. Throws `adapter_not_supported`.
 */
export async function chooseAdapters(
  deps: Pick<Services, 'db' | 'runtime'>,
  deployment: Served,
  modelIds: readonly string[],
): Promise<ModelAdapter[]> {
  const engine = requireEngine(deps.runtime.engines, deployment)
  const adapters: ModelAdapter[] = []
  for (const id of new Set(modelIds)) {
    const kept = deployment.adapters.find(({ modelId }) => modelId === id)
    adapters.push(kept ?? toAdapter(await findAdapter(deps, deployment, id), deployment, engine))
  }
  return adapters
}

function requireEngine(
  engines: readonly RuntimeEngine[],
  { model_format: format, model_name: name }: Served,
): AdapterEngine {
  const engine = findEngine({ format }, engines)
  if (engine?.adapters !== undefined) return { ...engine, adapters: engine.adapters }
  throw refuse(`${engine?.title ?? 'The engine'} serves no adapters here, so ${name} can not have any`)
}

async function findAdapter(
  deps: Pick<Services, 'db'>,
  { organization_id: organizationId }: Served,
  id: string,
): Promise<CatalogModel> {
  const model = await findVisibleModel(deps, organizationId, id)
  if (model !== null) return model
  throw refuse(`The catalog has no adapter with the id ${JSON.stringify(id)}`)
}

function toAdapter(
  { id, modelName, adapter, variants }: CatalogModel,
  { model_name: baseName, model_size_in_billions: size }: Served,
  engine: AdapterEngine,
): ModelAdapter {
  if (adapter === undefined) throw refuse(`${modelName} is no adapter, but a model of its own`)
  const { baseModelName, baseSizes, rank } = adapter
  if (baseModelName !== baseName)
    throw refuse(`${modelName} is an adapter of ${baseModelName}, not of ${baseName}`)
  if (!baseSizes.includes(size))
    throw refuse(`${modelName} does not fit ${baseName} with ${size} billion parameters`)
  const { format } = engine.adapters
  const variant = variants.find((each) => each.format === format)
  if (variant === undefined) {
    throw refuse(
      `The engine of this deployment needs a ${nameFormat(format)}, which ${modelName} does not have`,
    )
  }
  const obstacle = findRankObstacle(engine, rank)
  if (obstacle !== null) throw refuse(obstacle)
  return {
    modelId: id,
    modelName,
    format,
    rank,
    weightBytes: variant.weightBytes ?? 0,
    weights: variant.weights,
  }
}

function refuse(message: string): ApplicationError {
  return new ApplicationError('adapter_not_supported', `${message}.`)
}
