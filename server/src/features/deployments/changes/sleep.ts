import { ApplicationError } from '../../../base/errors.ts'
import type { Viewer } from '../../../base/viewer.ts'
import type { Services } from '../../../services.ts'
import { recordAction } from '../../audit/record-action.ts'
import { accessDeployment } from '../state/access-deployment.ts'
import type { DeploymentReference } from '../state/access-deployment.ts'
import { describeTarget } from '../state/audit-target.ts'
import { beginTransition } from '../state/event-transition.ts'
import type { TransitionOrigin } from '../state/event-transition.ts'
import { updateOwnDeployment } from '../state/change-store.ts'
import type { EventContent } from '../state/change-store.ts'
import { isActive } from '../state/lifecycle.ts'
import { findDeployment, usesEndpoint } from '../state/store.ts'
import type { Deployment } from '../state/store.ts'

/** Puts a deployment to sleep after its requests. Throws `deployment_not_ready`, `not_for_endpoints`. */
export async function putToSleep(
  deps: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  reference: DeploymentReference,
): Promise<Deployment> {
  for (;;) {
    const deployment = await accessDeployment(deps, viewer, 'change', reference)
    const { status, desired_state } = deployment
    requireActive(deployment)
    if (desired_state === 'asleep') return deployment
    if (usesEndpoint(deployment)) {
      const message = `${deployment.model_name} is a model of an endpoint, which never sleeps.`
      throw new ApplicationError('not_for_endpoints', message)
    }
    if (status !== 'running') {
      const message = `This deployment is ${status}. Only running deployments can be put to sleep.`
      throw new ApplicationError('deployment_not_ready', message, { kind: 'conflict' })
    }
    const at = deps.clock()
    const origin = { cause: 'person', user_id: viewer.userId } as const
    const changed = await updateOwnDeployment(
      deps.db,
      { id: deployment.id, status, desired_state },
      { desired_state: 'asleep', refusal: null },
      toSleepEvent(deployment, origin, at),
      at,
      async (transaction, { organization_id: organizationId }) => {
        const action = { ...(await describeTarget(transaction, viewer, deployment)), organizationId }
        await recordAction(transaction, viewer, 'deployment.put_to_sleep', action)
      },
    )
    if (changed !== undefined) return changed
  }
}

/** Throws `deployment_ended` if the deployment has failed or is terminated. */
export function requireActive({ status }: Pick<Deployment, 'status'>): void {
  if (isActive(status)) return
  throw new ApplicationError(
    'deployment_ended',
    `This deployment is ${status}. Only deployments that run or are about to run can be changed.`,
  )
}

/** Puts a running deployment to sleep for another reason than a person's request. */
export async function putToSleepFor(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  id: string,
  origin: TransitionOrigin,
): Promise<void> {
  const at = clock()
  const deployment = await findDeployment(db, id)
  if (deployment?.status !== 'running' || deployment.desired_state !== 'awake') return
  await updateOwnDeployment(
    db,
    { id: deployment.id, status: deployment.status, desired_state: deployment.desired_state },
    { desired_state: 'asleep', refusal: null },
    toSleepEvent(deployment, origin, at),
    at,
  )
}

function toSleepEvent(
  { status_changed_at: since }: Deployment,
  origin: TransitionOrigin,
  at: Date,
): EventContent {
  return { stage: 'sleep', message: '', transition: beginTransition('sleep', origin, since, at) }
}
