import type { Services } from '../../../services.ts'
import type { Admission, AdmissionRequest } from './admission.ts'
import { loadTargets, toKey } from '../targets/targets.ts'
import type { TargetDeps } from '../targets/targets.ts'

type Deps = TargetDeps & Pick<Services, 'log' | 'notifications'>

/**
 * Sends queued requests to instances that become ready, not to draining or released ones. A model's requests
 * share one look at the targets, which each notification may change.
 */
export function followTargets(
  deps: Deps,
  admission: Pick<Admission, 'waiting' | 'retry'>,
): { close(): void } {
  let isDue = false
  let following: Promise<void> | null = null

  async function follow(): Promise<void> {
    while (isDue) {
      isDue = false
      const byModel = Map.groupBy(admission.waiting, ({ asker, model, afterOrder }) =>
        toKey(asker, model, afterOrder),
      )
      for (const requests of byModel.values()) await replaceTargets(deps, requests)
      admission.retry()
    }
  }

  function onChange(): void {
    if (admission.waiting.length === 0) return
    isDue = true
    following ??= follow()
      .catch((error: unknown) =>
        deps.log.warn({ err: error }, 'could not look for targets of queued requests'),
      )
      .finally(() => {
        following = null
      })
  }

  const stops = [
    deps.notifications.subscribe('deployment_changed', onChange),
    deps.notifications.onReconnected(onChange),
  ]
  return { close: () => stops.forEach((stop) => stop()) }
}

/** Other deployments of the model may lack what requests need, so each request keeps its deployments. */
async function replaceTargets(deps: Deps, requests: readonly AdmissionRequest[]): Promise<void> {
  const { asker, model, afterOrder } = requests[0]!
  // Without a target the requests wait on, as they would for a target without room.
  const found = await loadTargets(deps, asker, model, afterOrder).catch(() => [])
  for (const request of requests) {
    const meant = new Set(request.targets.map(({ deploymentId }) => deploymentId))
    const targets = found.filter(({ deploymentId }) => meant.has(deploymentId))
    if (targets.length > 0) request.targets = targets
  }
}
