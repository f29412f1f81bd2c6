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

/**
 * Returns the asker's running deployments that can serve `model`, only those in `among`: an id or the
 * engine's uid selects one, an alias or a model name all that have it. If none is ready, throws `AsleepError`
 * for one that can wake, the error of the newest one's state, or the refusal if the asker may call none.
 */
export async function findTargets(
  deps: Deps,
  asker: Asker,
  model: string,
  among?: ReadonlySet<string>,
): Promise<ServingDeployment[]> {
  const { viewer } = asker
  const named = await resolveDeployments(deps, viewer, model)
  const found = among === undefined ? named : named.filter(({ deploymentId }) => among.has(deploymentId))
  const callable = requireCallable(personsOf(asker), found, () => modelNotFound(model))
  const now = deps.clock()
  const candidates = requireBudget(asker, callable, now)
  // Each request judges them again: the result is cached, and what the asker may call can change meanwhile.
  if (candidates.some(isReady)) return found.filter(isReady)
  const waking = candidates.find((deployment) => mayWake(deployment, now))
  if (waking !== undefined) throw new AsleepError(waking)
  const newest = candidates.find(({ status }) => status === 'running') ?? candidates[0]
  if (newest === undefined) throw await explainModelNotFound(deps, viewer, model)
  if (newest.status === 'failed') {
    const message = `The deployment of ${newest.modelName} has failed: ${newest.failureReason}`
    throw new ApplicationError('deployment_failed', message)
  }
  const { modelName, baseModelName, status, loraId, recovery } = newest
  const recovering = findRecoveryError(modelName, recovery, now)
  if (recovering !== null) throw recovering
  const message =
    loraId !== null && status === 'running'
      ? `The deployment of ${baseModelName} does not have the LoRA ${modelName} yet. Retry in a few seconds.`
      : `The deployment of ${modelName} is ${status} and not ready for requests. Retry in a few seconds.`
  throw new ApplicationError('deployment_not_ready', message, retryAfterSeconds)
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
