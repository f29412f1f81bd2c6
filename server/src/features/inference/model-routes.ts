import { findStanding } from '../../base/standing.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { App } from '../../http/app.ts'
import type { Services } from '../../services.ts'
import { listModelCapabilities } from '../deployments/serving/list-model-capabilities.ts'
import {
  listServingDeployments,
  requireCallable,
  resolveDeployments,
} from '../deployments/serving/serving-deployments.ts'
import type { ServingDeployment } from '../deployments/serving/serving-deployments.ts'
import { modelNotFound } from './targets/find-targets.ts'
import { openAiErrorBody } from './protocols/openai.ts'
import { modelBody, modelParams, modelsBody } from './schemas.ts'

type Deps = Pick<Services, 'db' | 'runtime'>

const tags = ['Inference']

/** OpenAI's list of the models that a caller can use. */
export function modelRoutes(app: App, deps: Deps): void {
  app.get(
    '/v1/models',
    {
      config: { permission: 'useOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'listModels',
        summary:
          'List the models of your running and sleeping deployments, and of those that others share with your organization',
        tags,
        response: { 200: modelsBody },
        errorBody: openAiErrorBody,
      },
    },
    async ({ viewer }) => {
      const byName = groupByRequestName(await listServingDeployments(deps, viewer))
      const data = [...byName].map(([id, deployments]) => toModel(deps, id, deployments, viewer))
      return { object: 'list' as const, data: await Promise.all(data) }
    },
  )

  app.get(
    '/v1/models/:model',
    {
      config: { permission: 'useOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'getModel',
        summary: 'Get a model of your running or sleeping deployments, or of shared ones',
        tags,
        params: modelParams,
        response: { 200: modelBody },
        errors: ['model_not_found'],
        errorBody: openAiErrorBody,
      },
    },
    async ({ viewer, params: { model } }) => {
      const resolved = await resolveDeployments(deps, viewer, model)
      const found = requireCallable(viewer, resolved, () => modelNotFound(model))
      const serving = found.filter(({ status }) => status === 'running' || status === 'sleeping')
      if (serving.length === 0) throw modelNotFound(model)
      return toModel(deps, model, serving, viewer)
    },
  )
}

/** Deployments by request name. The caller's own come first: shared ones go by `inference_model_uid`. */
function groupByRequestName({
  own,
  shared,
}: Record<'own' | 'shared', readonly ServingDeployment[]>): Map<string, ServingDeployment[]> {
  const ownNames = groupByName(own)
  const byUid = Map.groupBy(
    shared.filter(isWithoutLora).filter(({ modelName }) => ownNames.has(modelName)),
    ({ modelUid }) => modelUid,
  )
  return new Map([...ownNames, ...[...groupByName(shared), ...byUid].filter(([name]) => !ownNames.has(name))])
}

/** By the name of the model or LoRA, and by alias, which goes before the model name of others. */
function groupByName(deployments: readonly ServingDeployment[]): Map<string, ServingDeployment[]> {
  const byAlias = Map.groupBy(deployments.filter(isWithoutLora), ({ alias }) => alias)
  const names = Map.groupBy(deployments, ({ modelName }) => modelName)
  for (const [alias, aliased] of byAlias) if (alias !== null) names.set(alias, aliased)
  return names
}

const isWithoutLora = ({ loraId }: ServingDeployment) => loraId === null

/** Names for clients that choose models by what they do */
const typeNames = { LLM: 'chat', embedding: 'embedding', rerank: 'rerank' } as const

async function toModel(deps: Deps, id: string, deployments: readonly ServingDeployment[], viewer: Viewer) {
  return {
    id,
    object: 'model' as const,
    base_model: deployments[0]!.loraId === null ? null : deployments[0]!.baseModelName,
    created: Math.floor(Math.min(...deployments.map(({ createdAt }) => createdAt.getTime())) / 1000),
    type: typeNames[deployments[0]!.modelType],
    // A request may reach any of them.
    max_model_len: leastOf(deployments.map(({ contextTokens }) => contextTokens)),
    capabilities: await listModelCapabilities(deps, deployments),
    owned_by:
      findStanding(viewer, deployments[0]!.organizationId)?.organizationName ?? viewer.organizationName,
    deployments: deployments.map(({ deploymentId }) => deploymentId),
  }
}

/** The least of the known numbers; null if none is known */
function leastOf(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((each) => each !== null)
  return known.length === 0 ? null : Math.min(...known)
}
