import { ApplicationError } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'
import type { Viewer } from '../../../base/viewer.ts'
import { personsOf } from '../../deployments/serving/asker.ts'
import type { Asker } from '../../deployments/serving/asker.ts'
import { findRecoveryError, mayWake } from '../../deployments/serving/recovering.ts'
import { requireBudget } from '../../deployments/serving/require-budget.ts'
import {
  couldBeShared,
  requireCallable,
  resolveDeployments,
} from '../../deployments/serving/serving-deployments.ts'
import type { ServingDeployment } from '../../deployments/serving/serving-deployments.ts'

const retryAfterSeconds = 5

type Deps = Pick<Services, 'db' | 'clock'>

/** A deployment that a request can be sent to. */
export interface FoundDeployment extends ServingDeployment {
  /** The request's alias has deployments of later orders. */
  fallsBack: boolean
}

/** Selects among the deployments that a name reaches. */
export interface TargetScope {
  /** Only those of later orders of the alias; 0 for all */
  after: number
  /** Only those with these ids */
  among?: ReadonlySet<string>
}

/**
 * Returns the asker's running deployments that can serve `model`: an id or the engine's uid selects one, an
 * alias or a model name all that have it, and an alias with an order those of the first order in the scope.
 * If none is ready, throws `AsleepError` for one that can wake, the error of the newest one's state, in an
 * `UnavailableError` if the alias has an order, or the refusal if the asker may call none. Returns none if no
 * order is left.
 */
export async function findTargets(
  deps: Deps,
  asker: Asker,
  model: string,
  { after, among }: TargetScope,
): Promise<FoundDeployment[]> {
  const { viewer } = asker
  const named = await resolveDeployments(deps, viewer, model)
  const found = named.filter(
    ({ deploymentId, aliasOrder }) =>
      (among === undefined || among.has(deploymentId)) && (after === 0 || (aliasOrder ?? 0) > after),
  )
  if (after > 0 && found.length === 0) return []
  const now = deps.clock()
  const all = listCandidates(deps, asker, found, model)
  const order = all.some(({ aliasOrder }) => aliasOrder !== null)
    ? Math.min(...all.map(({ aliasOrder }) => aliasOrder ?? Infinity))
    : null
  const candidates = all.filter(({ aliasOrder }) => aliasOrder === order)
  const fallsBack = all.some(({ aliasOrder, status }) => aliasOrder !== order && status !== 'failed')
  // Each request judges them again: the result is cached, and what the asker may call can change meanwhile.
  if (candidates.some(isReady)) {
    return found
      .filter((deployment) => deployment.aliasOrder === order && isReady(deployment))
      .map((deployment) => ({ ...deployment, fallsBack }))
  }
  const waking = candidates.find((deployment) => mayWake(deployment, now))
  if (waking !== undefined) throw new AsleepError(waking)
  const newest = candidates.find(({ status }) => status === 'running') ?? candidates[0]
  if (newest === undefined) throw await explainModelNotFound(deps, viewer, model)
  const error = toStateError(newest, now)
  throw newest.aliasOrder === null ? error : new UnavailableError(newest, error)
}

/** The deployments that may serve the asker's requests. Throws the refusal if the list is empty. */
function listCandidates(
  { clock }: Pick<Deps, 'clock'>,
  asker: Asker,
  found: readonly ServingDeployment[],
  model: string,
): readonly ServingDeployment[] {
  const callable = requireCallable(personsOf(asker), found, () => modelNotFound(model))
  return requireBudget(asker, callable, clock)
}

/** The error for requests to a deployment that neither serves nor sleeps. */
function toStateError(newest: ServingDeployment, now: Date): ApplicationError {
  if (newest.status === 'failed') {
    const message = `The deployment of ${newest.modelName} has failed: ${newest.failureReason}`
    return new ApplicationError('deployment_failed', message)
  }
  const { modelName, baseModelName, status, loraId, recovery } = newest
  const recovering = findRecoveryError(modelName, recovery, now)
  if (recovering !== null) return recovering
  const message =
    loraId !== null && status === 'running'
      ? `The deployment of ${baseModelName} does not have the LoRA ${modelName} yet. Retry in a few seconds.`
      : `The deployment of ${modelName} is ${status} and not ready for requests. Retry in a few seconds.`
  return new ApplicationError('deployment_not_ready', message, retryAfterSeconds)
}

function isReady({ instances }: ServingDeployment): boolean {
  return instances.length > 0
}

/** The request has to wait until this deployment is awake. */
export class AsleepError extends Error {
  readonly deployment: ServingDeployment
  constructor(deployment: ServingDeployment) {
    super('the deployment sleeps')
    this.deployment = deployment
  }
}

/** No deployment of an order can serve the request. */
export class UnavailableError extends Error {
  /** One of them */
  readonly deployment: ServingDeployment
  readonly reason: ApplicationError
  constructor(deployment: ServingDeployment, reason: ApplicationError) {
    super(reason.message)
    this.deployment = deployment
    this.reason = reason
  }
}

/** A 404 for a model name without a deployment. */
export function modelNotFound(model: string, advice = ''): ApplicationError {
  const message = `You have no deployment called ${JSON.stringify(model.slice(0, 200))}.${advice}`
  return new ApplicationError('model_not_found', message)
}

/** A 404 that tells whether a colleague has a deployment of this name. */
export async function explainModelNotFound(
  deps: Pick<Services, 'db'>,
  viewer: Viewer,
  model: string,
): Promise<ApplicationError> {
  const advice = (await couldBeShared(deps, viewer, model))
    ? ' A colleague has one, and can share it: with `berth share`, or on its page in the console.'
    : ''
  return modelNotFound(model, advice)
}
