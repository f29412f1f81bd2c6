import { ApplicationError } from '../../../base/errors.ts'
import { createRequestReader } from './request-body.ts'
import type { InferenceRequest, RequestReader } from './request-body.ts'
import { refuseField } from '../protocols/fields.ts'
import type { Protocol, Translation } from '../protocols/protocol.ts'
import type { EngineTarget } from '../targets/targets.ts'

/** One way to serve the requests of a route: as they are, or by another route of the engine. */
export interface Way {
  /** The route, with the formats of the engine's answers */
  readonly protocol: Protocol
  /** Reads a body for the engine */
  readonly read: RequestReader
  /** null if requests are forwarded as they are */
  readonly translate: Translation['translate'] | null
}

/**
 * Returns the ways to serve a route, the preferred one first. Engines may fetch media from the hosts in
 * `mediaDomains`.
 */
export function listWays(protocol: Protocol, mediaDomains?: ReadonlySet<string>): readonly [Way, ...Way[]] {
  const asItIs = { protocol, read: createRequestReader(protocol, mediaDomains), translate: null }
  const translated = protocol.translations.map(({ via, translate }) => ({
    protocol: serveVia(protocol, via),
    read: createRequestReader(via, mediaDomains),
    translate,
  }))
  const [first, ...others] = translated
  return protocol.alwaysTranslates && first !== undefined ? [first, ...others] : [asItIs, ...translated]
}

/** The route of a protocol, as engines see it that get it by the route of another one. */
function serveVia(protocol: Protocol, via: Protocol): Protocol {
  const { enginePath, route, countedAt, events } = via
  // A long answer is metered after its translation.
  const readUsage: Protocol['bodies']['readUsage'] = (usage) =>
    'prompt_tokens' in usage ? via.bodies.readUsage(usage) : protocol.bodies.readUsage(usage)
  const bodies = { ...via.bodies, readUsage }
  return { ...protocol, enginePath, route, countedAt, bodies, events }
}

/**
 * Chooses how to serve a request at these targets, at least one: by a way that all engines have, or else by
 * one that some have. Throws a 404 if no engine has any.
 */
export function chooseWay(
  ways: readonly [Way, ...Way[]],
  { prefersTranslation }: Pick<InferenceRequest, 'prefersTranslation'>,
  targets: readonly EngineTarget[],
): { way: Way; targets: readonly EngineTarget[] } {
  const [first, ...others] = ways
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
    `${engineTitle}, which runs ${modelName}, does not serve ${first.protocol.path}.`,
  )
}

/**
 * Returns the targets that honor all fields of a request. Throws a 400 if there is none: another answer would
 * be wrong without a word.
 */
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

function hasRoute({ routes }: EngineTarget, { protocol: { route } }: Way): boolean {
  return route === null || routes.has(route)
}
