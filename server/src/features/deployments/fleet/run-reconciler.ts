import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Services } from '../../../services.ts'
import { leaseDueDeployments, renewLeases, revokeLeases } from './lease-store.ts'
import { createPassBatches } from './pass-batches.ts'
import { reconcileDeployment } from './reconcile.ts'
import type { Deps as ReconcileDeps } from './step.ts'
import { countScheduledDeployments } from '../state/store.ts'

type Deps = ReconcileDeps & Pick<Services, 'notifications'>

const leaseSeconds = 6
const renewMilliseconds = 2_000
const pollMilliseconds = 500
const maxConcurrent = 128
/** Minimum batch of a busy worker: a query per deployment would cost as much as the passes. */
const minBatch = 8

const countMilliseconds = 10_000
/** Routine checks of running deployments per second, across all workers */
const checksPerSecond = 200
const checkIntervalRange = { min: 5_000, max: 60_000 }

/** Reconciles due deployments on notifications, or by a timer if one is lost. `stop` waits for passes. */
export async function runReconciler(deps: Deps): Promise<{ stop(): Promise<void> }> {
  const { config, db, log, notifications } = deps
  // One worker at a time uses a DATA_DIR, so leases with this prefix belong to a worker that was killed.
  const workerPrefix = `${hostname()}:${config.dataDirectory}:`
  await revokeLeases(db, workerPrefix)
  const worker = `${workerPrefix}${randomUUID()}`
  const batches = createPassBatches(db)
  const deploymentsInProgress = new Map<Promise<void>, string>()
  let checkInterval = checkIntervalRange.min
  let leasing: Promise<void> | null = null
  let isWakePending = false
  let mayHaveMore = false
  let isStopped = false

  async function leaseDue(): Promise<void> {
    while (isWakePending) {
      isWakePending = false
      const free = maxConcurrent - deploymentsInProgress.size
      if (free === 0) return
      const leased = await leaseDueDeployments(db, worker, leaseSeconds, free)
      mayHaveMore = leased.length === free
      for (const deployment of leased) {
        const pass: Promise<void> = reconcileDeployment(deps, batches, deployment, checkInterval)
          .catch((error: unknown) => {
            log.error({ err: error, deployment: deployment.id }, 'reconciling a deployment failed')
            return false
          })
          .then((isDue) => endPass(pass, isDue))
        deploymentsInProgress.set(pass, deployment.id)
      }
    }
  }

  function endPass(pass: Promise<void>, isDue: boolean): void {
    deploymentsInProgress.delete(pass)
    if (isDue || (mayHaveMore && maxConcurrent - deploymentsInProgress.size >= minBatch)) wake()
  }

  function wake(): void {
    if (isStopped) return
    isWakePending = true
    leasing ??= leaseDue()
      .catch((error: unknown) => log.error({ err: error }, 'leasing due deployments failed'))
      .finally(() => {
        leasing = null
      })
  }

  /** Spaces out routine checks when there are many deployments. A failing request triggers its own check. */
  async function updateCheckInterval(): Promise<void> {
    const interval = ((await countScheduledDeployments(db)) / checksPerSecond) * 1000
    checkInterval = Math.min(Math.max(interval, checkIntervalRange.min), checkIntervalRange.max)
  }

  const unsubscribe = [notifications.subscribe('deployment_due', wake), notifications.onReconnected(wake)]
  const poll = setInterval(wake, pollMilliseconds)
  const renew = setInterval(() => {
    renewLeases(db, worker, [...deploymentsInProgress.values()], leaseSeconds).catch((error: unknown) =>
      log.error({ err: error }, 'renewing leases failed'),
    )
  }, renewMilliseconds)
  const count = setInterval(() => {
    updateCheckInterval().catch((error: unknown) => log.error({ err: error }, 'counting deployments failed'))
  }, countMilliseconds)
  await updateCheckInterval()
  wake()

  return {
    async stop() {
      isStopped = true
      clearInterval(poll)
      clearInterval(count)
      for (const end of unsubscribe) end()
      await leasing
      await Promise.all(deploymentsInProgress.keys())
      clearInterval(renew)
    },
  }
}
