import { ApplicationError } from '../../../base/errors.ts'
import { refuseField } from '../protocols/fields.ts'
import { parseWithSources } from '../protocols/json-source.ts'
import type { AnswerTranslation, DeploymentFacts, JsonObject, Protocol } from '../protocols/protocol.ts'
import { mainProtocols } from '../protocols/protocols.ts'
import type { EngineTarget } from '../targets/targets.ts'
import { createRequestReader, createRequestWriter } from './request-body.ts'
import type { InferenceRequest, RequestReader } from './request-body.ts'

/** A request for an engine, and what makes its response the caller's; null if it is that already. */
export interface EngineBoundRequest {
  readonly request: InferenceRequest
  readonly answers: AnswerTranslation | null
}

/** One way to serve a route's requests: unchanged, or by another route of the engine. */
export interface Way {
  /** The route, with the formats of the engine's responses */
  readonly protocol: Protocol
  /** Translates a request, or throws the caller's 400; null without translation */
  readonly translate: ((request: InferenceRequest, facts: DeploymentFacts) => EngineBoundRequest) | null
}

/** A route with the ways to serve it, the preferred one first. */
export interface ServedRoute {
  readonly protocol: Protocol
  readonly read: RequestReader
  readonly ways: readonly Way[]
}

/** Longest body that is translated, in bytes, because making objects of it blocks the process. */
const maxTranslatedBytes = 8 * 1024 * 1024

/** Lists the ways to serve a route. Engines may fetch media from the hosts in `mediaDomains`. */
export function serveRoute(protocol: Protocol, mediaDomains?: ReadonlySet<string>): ServedRoute {
  const translated = protocol.translations.map(({ via, sources, translate }): Way => {
    const write = createRequestWriter(via, mediaDomains)
    return {
      protocol: serveVia(protocol, via),
      translate(request, facts) {
        const { body, answers } = translate(parseObject(request.body, sources), facts)
        return { request: write(body), answers }
      },
    }
  })
  return {
    protocol,
    read: createRequestReader(protocol, mediaDomains),
    ways: protocol.alwaysTranslates ? translated : [{ protocol, translate: null }, ...translated],
  }
}

/** The route of a protocol, as engines see it that get it by the route of another one. */
function serveVia(protocol: Protocol, via: Protocol): Protocol {
  const { enginePath, route, countedAt, events } = via
  // A long response is metered after its translation.
  const readUsage: Protocol['bodies']['readUsage'] = (usage) =>
    'prompt_tokens' in usage ? via.bodies.readUsage(usage) : protocol.bodies.readUsage(usage)
  const bodies = { ...via.bodies, readUsage }
  return { ...protocol, enginePath, route, countedAt, bodies, events }
}

function parseObject(body: Buffer | string, sources: readonly string[] = []): JsonObject {
  if (body.length > maxTranslatedBytes) {
    const message = `The engine does not serve this route, so Berth translates requests, and those may have ${maxTranslatedBytes} bytes.`
    throw new ApplicationError('body_too_large', message)
  }
  try {
    const text = typeof body === 'string' ? Buffer.from(body, 'latin1').toString() : body.toString()
    return parseWithSources(text, sources) as JsonObject
  } catch {
    throw new ApplicationError('invalid_request_error', 'The body is not valid JSON.')
  }
}

/** Chooses a way that all targets (at least one) have, or else some. Throws a 404 if none has any. */
export function chooseWay(
  { protocol, ways }: Pick<ServedRoute, 'protocol' | 'ways'>,
  request: Pick<InferenceRequest, 'prefersTranslation' | 'values'>,
  targets: readonly EngineTarget[],
): { way: Way; targets: readonly EngineTarget[] } {
  const [first, ...others] = ways as [Way, ...Way[]]
  // Only chats are fitted to an engine.
  const prefersTranslation =
    request.prefersTranslation ||
    (request.values['tools'] === 'array' && targets.some(({ chatForm }) => chatForm?.namesTools === false))
  // Nearly all requests, which then need no new lists
  if (!prefersTranslation && targets.every((target) => hasRoute(target, first)))
    return { way: first, targets }
  const preferred = prefersTranslation ? [...others, first] : ways
  const served = preferred.map((way) => ({ way, targets: targets.filter((target) => hasRoute(target, way)) }))
  const best =
    served.find((each) => each.targets.length === targets.length) ??
    served.find((each) => each.targets.length > 0)
  if (best !== undefined) return best
  const { engineTitle, modelName } = targets[0]!
  throw new ApplicationError(
    'route_not_supported',
    `${engineTitle}, which runs ${modelName}, does not serve ${protocol.path}.`,
  )
}

function hasRoute({ routes }: EngineTarget, { protocol: { route } }: Way): boolean {
  return route === null || routes.has(route)
}

/** Targets that honor all fields. Throws a 400 without any: ignored fields would change the answer. */
export function findHonoring(
  { meaningfulFields }: Pick<InferenceRequest, 'meaningfulFields'>,
  targets: readonly EngineTarget[],
): readonly EngineTarget[] {
  if (meaningfulFields.length === 0) return targets
  const honoring = targets.filter(({ ignoredFields }) =>
    meaningfulFields.every((field) => !ignoredFields.has(field)),
  )
  if (honoring.length > 0) return honoring
  const { engineTitle, ignoredFields } = targets[0]!
  throw refuseField(
    meaningfulFields.find((field) => ignoredFields.has(field)) ?? meaningfulFields[0]!,
    `is not supported by ${engineTitle}, which runs this model. Omit it.`,
  )
}

/** Throws a 400 for a member that callers of a shared engine, or of one with LoRAs, may not set. */
export function refuseFields(
  { refusedFields: [field] }: Pick<InferenceRequest, 'refusedFields'>,
  targets: readonly EngineTarget[],
): void {
  if (field === undefined) return
  if (targets.some(({ lora }) => lora !== null)) {
    throw new ApplicationError(
      'invalid_request_error',
      `\`${field}\` is not available. Name a LoRA of the deployment in \`model\` instead.`,
    )
  }
  if (targets.every(({ sharedWith }) => sharedWith === null)) return
  throw new ApplicationError(
    'invalid_request_error',
    `\`${field}\` is not available: the deployment is shared with the organization, and the field would affect the requests of others.`,
  )
}

/** Throws a 400 for chat with an embedding model, and for embeddings of a chat model. */
export function requireModelType(
  { modelName, modelType }: Pick<EngineTarget, 'modelName' | 'modelType'>,
  { modelTypes }: Pick<Protocol, 'modelTypes'>,
): void {
  if (modelTypes.includes(modelType)) return
  const { modelKind, path } = mainProtocols[modelType]
  throw new ApplicationError(
    'invalid_request_error',
    `${modelName} is ${modelKind}. Send its requests to ${path}.`,
  )
}
