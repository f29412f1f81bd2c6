import { ApplicationError } from '../../../base/errors.ts'
import { nameFormat } from '../../../base/format-names.ts'
import type { ModelLora } from '../../../ports/model-variant.ts'
import type { LoraServing, RuntimeEngine } from '../../../ports/runtime-engine.ts'
import type { Services } from '../../../services.ts'
import { findRankObstacle } from '../../catalog/engine-choice.ts'
import { findVisibleModel } from '../../catalog/find-variant.ts'
import type { CatalogModel } from '../../catalog/model.ts'
import { listDeploymentEngines } from '../state/deployment-engines.ts'
import type { Deployment } from '../state/store.ts'

type Served = Pick<
  Deployment,
  'id' | 'organization_id' | 'model_name' | 'model_format' | 'model_size_in_billions' | 'adapters'
>

type LoraEngine = RuntimeEngine & { loras: LoraServing }

/** The LoRAs with these ids, if engine, model and organization allow them, else `adapter_not_supported`. */
export async function chooseLoras(
  deps: Pick<Services, 'db' | 'runtimes'>,
  deployment: Served,
  modelIds: readonly string[],
): Promise<ModelLora[]> {
  const { engines } = await listDeploymentEngines(deps, deployment)
  const engine = requireEngine(engines, deployment)
  const adapters: ModelLora[] = []
  for (const id of new Set(modelIds)) {
    const kept = deployment.adapters.find(({ modelId }) => modelId === id)
    adapters.push(kept ?? toLora(await findLora(deps, deployment, id), deployment, engine))
  }
  return adapters
}

function requireEngine(engines: readonly RuntimeEngine[], { model_name: name }: Served): LoraEngine {
  const engine = engines.find(({ loras }) => loras !== undefined)
  if (engine?.loras !== undefined) return { ...engine, loras: engine.loras }
  throw refuse(`${engines[0]?.title ?? 'The engine'} serves no LoRAs here, so ${name} can not have any`)
}

async function findLora(
  deps: Pick<Services, 'db'>,
  { organization_id: organizationId }: Served,
  id: string,
): Promise<CatalogModel> {
  const model = await findVisibleModel(deps, organizationId, id)
  if (model !== null) return model
  throw refuse(`The catalog has no LoRA with the id ${JSON.stringify(id)}`)
}

function toLora(
  { id, modelName, lora, variants }: CatalogModel,
  { model_name: baseName, model_size_in_billions: size }: Served,
  engine: LoraEngine,
): ModelLora {
  if (lora === undefined) throw refuse(`${modelName} is no LoRA, but a model of its own`)
  const { baseModelName, baseSizes, rank } = lora
  if (baseModelName !== baseName)
    throw refuse(`${modelName} is a LoRA of ${baseModelName}, not of ${baseName}`)
  if (!baseSizes.includes(size))
    throw refuse(`${modelName} does not fit ${baseName} with ${size} billion parameters`)
  const { format } = engine.loras
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
