import { ApplicationError } from '../../../base/errors.ts'
import type { Viewer } from '../../../base/viewer.ts'
import type { Services } from '../../../services.ts'
import { recordAction } from '../../audit/record-action.ts'
import { findBudgetBlock } from '../../billing/budgets/budget-limits.ts'
import { assertCanWake } from '../../billing/limits/deployment-limits.ts'
import { accessDeployment } from '../state/access-deployment.ts'
import type { DeploymentReference } from '../state/access-deployment.ts'
import { describeTarget } from '../state/audit-target.ts'
import { beginTransition } from '../state/event-transition.ts'
import type { TransitionOrigin } from '../state/event-transition.ts'
import { updateOwnDeployment } from '../state/change-store.ts'
import type { TransactionHook } from '../state/change-store.ts'
import { requireActive } from '../changes/sleep.ts'
import { findPause } from '../state/recovery.ts'
import { findDeployment } from '../state/store.ts'
import type { Deployment } from '../state/store.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'prices'>

/** Wakes a deployment for a person. Throws `deployment_ended`, `budget_exhausted` and billing errors. */
export async function wakeForPerson(
  deps: Deps,
  viewer: Viewer,
  reference: DeploymentReference,
): Promise<Deployment> {
  for (;;) {
    const deployment = await accessDeployment(deps, viewer, 'change', reference)
    requireActive(deployment)
    if (deployment.desired_state === 'awake') return deployment
    const woken = await wake(
      deps,
      deployment,
      { cause: 'person', user_id: viewer.userId },
      async (transaction, { organization_id: organizationId }) => {
        const action = { ...(await describeTarget(transaction, viewer, deployment)), organizationId }
        await recordAction(transaction, viewer, 'deployment.woken', action)
      },
    )
    if (woken !== undefined) return woken
  }
}

/**
 * Wakes a deployment for requests to `route`, once, unless a start has just failed. Throws `budget_exhausted`
 * and billing errors.
 */
export async function wakeForRequest(deps: Deps, id: string, route: string): Promise<void> {
  const deployment = await findDeployment(deps.db, id)
  if (deployment?.desired_state !== 'asleep' || findPause(deployment.recovery, deps.clock()) > 0) return
  await wake(deps, deployment, { cause: 'request', route })
}

/** Wakes a sleeping deployment at a time of its schedules. Throws as `wakeForRequest`. */
export async function wakeAsScheduled(deps: Deps, deployment: Deployment): Promise<void> {
  await wake(deps, deployment, { cause: 'schedule' })
}

async function wake(
  deps: Deps,
  deployment: Deployment,
  origin: TransitionOrigin,
  hook?: TransactionHook,
): Promise<Deployment | undefined> {
  const {
    id,
    organization_id: organizationId,
    user_id: userId,
    planned_price_per_hour: pricePerHour,
  } = deployment
  await assertCanWake(deps, organizationId)
  const exhausted = await findBudgetBlock(deps, { organizationId, userId, deploymentId: id, pricePerHour })
  if (exhausted !== null) throw new ApplicationError('budget_exhausted', exhausted)
  const at = deps.clock()
  const isAsleep = deployment.status === 'sleeping'
  const asleepSince = isAsleep ? deployment.status_changed_at : null
  return updateOwnDeployment(
    deps.db,
    { id, status: deployment.status, desired_state: deployment.desired_state },
    {
      desired_state: 'awake',
      woken_at: at,
      desired_instances: deployment.min_instances,
      refusal: null,
      // One attempt; requests wait for it
      recovery: deployment.recovery && { ...deployment.recovery, next_at: null },
      ...(isAsleep ? { status: 'provisioning' } : {}),
    },
    { stage: 'wake', message: '', transition: beginTransition('wake', origin, asleepSince, at) },
    at,
    hook,
  )
}
