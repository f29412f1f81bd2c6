import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Application } from '../../application.ts'
import { endLeasesFrom, leaseDueDeployments, renewLeases } from './leases.ts'
import { reconcileDeployment } from './reconcile.ts'

const leaseSeconds = 15
const renewMilliseconds = 5_000
const pollMilliseconds = 500
const atATime = 16

/**
 * Reconciles whatever is due until it is stopped: woken by notifications, and by a timer because one may be lost. Stopping
 * waits for the steps under way.
 */
export async function runReconciler(application: Application): Promise<{ stop(): Promise<void> }> {
  const { config, db, log, notifications } = application
  // A DATA_DIR has one worker at a time, so what is still leased from here was leased by one that was killed.
  const place = `${hostname()}:${config.dataDirectory}:`
  await endLeasesFrom(db, place)
  const worker = `${place}${randomUUID()}`
  // Each work with the deployment that it is on.
  const underWay = new Map<Promise<void>, string>()
  let looking: Promise<void> | null = null
  let lookAgain = false
  let stopped = false

  async function look(): Promise<void> {
    while (lookAgain) {
      lookAgain = false
      const free = atATime - underWay.size
      if (free === 0) return
      const leased = await leaseDueDeployments(db, worker, leaseSeconds, free)
      for (const deployment of leased) {
        const work = reconcileDeployment(application, deployment)
          .catch((error: unknown) =>
            log.error({ err: error, deployment: deployment.id }, 'reconciling failed'),
          )
          .finally(() => {
            underWay.delete(work)
            wake()
          })
        underWay.set(work, deployment.id)
      }
    }
  }

  function wake(): void {
    if (stopped) return
    lookAgain = true
    looking ??= look()
      .catch((error: unknown) => log.error({ err: error }, 'looking for due deployments failed'))
      .finally(() => {
        looking = null
      })
  }

  const unsubscribe = [notifications.subscribe('deployment_due', wake), notifications.onReconnected(wake)]
  const poll = setInterval(wake, pollMilliseconds)
  const renew = setInterval(() => {
    renewLeases(db, worker, [...underWay.values()], leaseSeconds).catch((error: unknown) =>
      log.error({ err: error }, 'renewing leases failed'),
    )
  }, renewMilliseconds)
  wake()

  return {
    async stop() {
      stopped = true
      clearInterval(poll)
      for (const end of unsubscribe) end()
      await looking
      await Promise.all(underWay.keys())
      clearInterval(renew)
    },
  }
}
