import type { FastifyReply, FastifyRequest } from 'fastify'
import { findStanding } from '../../base/standing.ts'
import type { App } from '../../http/app.ts'
import type { Viewer } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { listModelCapabilities } from '../deployments/serving/list-model-capabilities.ts'
import {
  isListed,
  listServingDeployments,
  requireCallable,
  resolveDeployments,
} from '../deployments/serving/serving-deployments.ts'
import { personsOf } from '../deployments/serving/asker.ts'
import type { ServingDeployment } from '../deployments/serving/serving-deployments.ts'
import { findAsker } from './arrival/find-asker.ts'
import type { AskerDeps } from './arrival/find-asker.ts'
import { explainModelNotFound, modelNotFound } from './targets/find-targets.ts'
import { unknownUrl } from './unknown-routes.ts'
import { openAiErrorBody } from './protocols/openai.ts'
import { modelBody, modelParams, modelsBody, slashedParams } from './schemas.ts'

type Deps = AskerDeps & Pick<Services, 'runtimes'>

const tags = ['Inference']

const shapes = 'In OpenAI’s shape, or in Anthropic’s for requests with the header `anthropic-version`.'

/** The list of the models that a caller can use, in the shape of OpenAI's or Anthropic's API. */
export function modelRoutes(app: App, deps: Deps): void {
  app.get(
    '/v1/models',
    {
      config: { permission: 'useOwnDeployments', anyOrganization: true },
      schema: {
        operationId: 'listModels',
        summary:
          'List the models of your running and sleeping deployments, and of those that others share with your organization',
        description: `${shapes} Deployments that are being started again stay listed. Anthropic’s has pages, by \`limit\`, \`after_id\` and \`before_id\`.`,
        tags,
        response: { 200: modelsBody },
        errorBody: openAiErrorBody,
      },
    },
    async (request, reply) => {
      const asker = await findAsker(deps, request.viewer, request.headers)
      const listed = await listServingDeployments(deps, asker)
      const byName = groupByRequestName(listed)
      if (speaksAnthropic(request)) {
        const models = [...byName].map(([id, deployments]) => toAnthropicModel(id, deployments))
        return sendUndescribed(reply, toAnthropicPage(models, request.query as Query))
      }
      const data = [...byName].map(([id, deployments]) =>
        toModel(deps, { id, deployments, listed }, request.viewer),
      )
      return { object: 'list' as const, data: await Promise.all(data) }
    },
  )

  const getModel = async ({
    model,
    request,
    reply,
  }: {
    model: string
    request: FastifyRequest
    reply: FastifyReply
  }) => {
    const { viewer } = request
    const asker = await findAsker(deps, viewer, request.headers)
    if (model === '') throw unknownUrl('GET', '/v1/models/')
    const resolved = await resolveDeployments(deps, viewer, model)
    const found = requireCallable(personsOf(asker), resolved, () => modelNotFound(model))
    const serving = sortByOrder(found.filter(isListed))
    if (serving.length === 0) throw await explainModelNotFound(deps, viewer, model)
    if (speaksAnthropic(request)) return sendUndescribed(reply, toAnthropicModel(model, serving))
    const listed = await listServingDeployments(deps, asker)
    return toModel(deps, { id: model, deployments: serving, listed }, viewer)
  }
  const config = { permission: 'useOwnDeployments', anyOrganization: true } as const

  app.get(
    '/v1/models/:model',
    {
      config,
      schema: {
        operationId: 'getModel',
        summary: 'Get a model of your running or sleeping deployments, or of shared ones',
        description: shapes,
        tags,
        params: modelParams,
        response: { 200: modelBody },
        errors: ['model_not_found'],
        errorBody: openAiErrorBody,
      },
    },
    (request, reply) => getModel({ model: request.params.model, request, reply }),
  )
  // Some clients don't escape the slashes of a name, and some proxies take the escapes back.
  app.get(
    '/v1/models/:owner/*',
    { config, schema: { hide: true, params: slashedParams, response: { 200: modelBody } } },
    (request, reply) => {
      const { owner, '*': rest } = request.params
      return getModel({ model: `${owner}/${rest}`, request, reply })
    },
  )
}

/** Sends a body that the API description has only in words, because clients have their own types for it. */
function sendUndescribed(reply: FastifyReply, body: object): never {
  return reply.serializer(JSON.stringify).type('application/json').send(body) as never
}

/** True for clients of Anthropic's API. */
export function speaksAnthropic({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['anthropic-version'] !== undefined
}

interface AnthropicModel {
  type: 'model'
  id: string
  display_name: string
  created_at: string
}

type Query = Readonly<Record<string, string | undefined>>

function toAnthropicModel(id: string, deployments: readonly ServingDeployment[]): AnthropicModel {
  const created = Math.min(...deployments.map(({ createdAt }) => createdAt.getTime()))
  return {
    type: 'model',
    id,
    display_name: deployments[0]!.modelName,
    created_at: new Date(created).toISOString(),
  }
}

/** As in Anthropic's API, which has 20 models on a page, and 1,000 at most. */
function toAnthropicPage(
  models: readonly AnthropicModel[],
  { limit, after_id: after, before_id: before }: Query,
) {
  const size =
    limit !== undefined && /^\d{1,4}$/.test(limit) ? Math.min(Math.max(Number(limit), 1), 1000) : 20
  const at = models.findIndex(({ id }) => id === (after ?? before))
  const [start, end] =
    before !== undefined && after === undefined
      ? [Math.max(at - size, 0), Math.max(at, 0)]
      : [after === undefined ? 0 : at + 1, after === undefined ? size : at + 1 + size]
  const data = models.slice(start, end)
  return {
    data,
    has_more: before !== undefined && after === undefined ? start > 0 : end < models.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  }
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
  const byAlias = Map.groupBy(sortByOrder(deployments.filter(isWithoutLora)), ({ alias }) => alias)
  const names = Map.groupBy(deployments, ({ modelName }) => modelName)
  for (const [alias, aliased] of byAlias) if (alias !== null) names.set(alias, aliased)
  return names
}

/** In the order of their alias, then from new to old. */
function sortByOrder(deployments: readonly ServingDeployment[]): ServingDeployment[] {
  const placeOf = ({ aliasOrder }: ServingDeployment) =>
    Math.min(aliasOrder ?? Infinity, Number.MAX_SAFE_INTEGER)
  return deployments.toSorted((one, other) => placeOf(one) - placeOf(other))
}

const isWithoutLora = ({ loraId }: ServingDeployment) => loraId === null

/** Names for clients that choose models by what they do */
const typeNames = { LLM: 'chat', embedding: 'embedding', rerank: 'rerank' } as const

interface NamedModel {
  id: string
  deployments: readonly ServingDeployment[]
  /** All that the viewer may call */
  listed: Record<'own' | 'shared', readonly ServingDeployment[]>
}

async function toModel(deps: Deps, { id, deployments, listed }: NamedModel, viewer: Viewer) {
  const reached = new Set(deployments.map(({ deploymentId }) => deploymentId))
  const named = [...listed.own, ...listed.shared].filter(
    ({ alias, modelName }) => alias === id || modelName === id,
  )
  return {
    id,
    object: 'model' as const,
    base_model: deployments[0]!.loraId === null ? null : deployments[0]!.baseModelName,
    created: Math.floor(Math.min(...deployments.map(({ createdAt }) => createdAt.getTime())) / 1000),
    type: typeNames[deployments[0]!.modelType],
    // A request may reach any of them.
    max_model_len: leastOf(deployments.map(({ contextTokens }) => contextTokens)),
    capabilities: await listCommonCapabilities(deps, deployments),
    owned_by:
      findStanding(viewer, deployments[0]!.organizationId)?.organizationName ?? viewer.organizationName,
    deployments: [...reached],
    shadowed_deployments: [...new Set(named.map(({ deploymentId }) => deploymentId))].filter(
      (each) => !reached.has(each),
    ),
  }
}

/** What each of these deployments can do, also those of different models with one alias. */
async function listCommonCapabilities(deps: Deps, deployments: readonly ServingDeployment[]) {
  const byModel = Map.groupBy(deployments, ({ baseModelName }) => baseModelName)
  const [first, ...others] = await Promise.all(
    [...byModel.values()].map((each) => listModelCapabilities(deps, each)),
  )
  return first!.filter((capability) => others.every((each) => each.includes(capability)))
}

/** The least of the known numbers; null if none is known */
function leastOf(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((each) => each !== null)
  return known.length === 0 ? null : Math.min(...known)
}
