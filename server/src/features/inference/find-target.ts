import { ApplicationError } from '../../errors.ts'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../viewer.ts'
import { resolveDeployments } from '../deployments/serving-deployments.ts'
import type { ServingDeployment } from '../deployments/serving-deployments.ts'

const notReadySeconds = 5

/**
 * The deployments that a request for `model` may go to, all running and answering; throws what the caller is told when there
 * is none. An id names one deployment, the engine's uid too, a model's name all that run it.
 */
export async function findTargets(
  application: Pick<Services, 'db'>,
  viewer: Viewer,
  model: string,
): Promise<[ServingDeployment, ...ServingDeployment[]]> {
  const candidates = await resolveDeployments(application, viewer, model)
  const [ready, ...others] = candidates.filter(({ engineUrl }) => engineUrl !== null)
  if (ready !== undefined) return [ready, ...others]
  const newest = candidates.find(({ status }) => status === 'running') ?? candidates[0]
  if (newest === undefined) {
    const message = `You have no deployment called ${JSON.stringify(model.slice(0, 200))}.`
    throw new ApplicationError('not_found', 'model_not_found', message)
  }
  if (newest.status === 'failed') {
    const message = `The deployment of ${newest.modelName} has failed: ${newest.failureReason}`
    throw new ApplicationError('malformed', 'deployment_failed', message)
  }
  throw new ApplicationError(
    'unavailable',
    'deployment_not_ready',
    `The deployment of ${newest.modelName} is ${newest.status} and does not answer yet.`,
    notReadySeconds,
  )
}
