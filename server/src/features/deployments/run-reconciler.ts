import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Services } from '../../services.ts'
import { endLeasesFrom, leaseDueDeployments, renewLeases } from './lease-store.ts'
import { reconcileDeployment } from './reconcile.ts'
import type { World } from './reconcile/step.ts'
import { countScheduledDeployments } from './store.ts'

type Deps = World & Pick<Services, 'notifications'>

const leaseSeconds = 6
const renewMilliseconds = 2_000
const pollMilliseconds = 500
const atATime = 32
/** A busy worker leases so many at once at least: one query for each would cost as much as the looks. */
const leasedAtOnce = 8

const countMilliseconds = 10_000
/** Looks at deployments that run and are well, of all workers together */
const looksPerSecond = 200
const lookPause = { shortest: 5_000, longest: 60_000 }

/**
 * Reconciles whatever is due until it is stopped: woken by notifications, and by a timer because one may be lost. Stopping
 * waits for the steps under way.
 */
export async function runReconciler(application: Deps): Promise<{ stop(): Promise<void> }> {
  const { config, db, log, notifications } = application
  // A DATA_DIR has one worker at a time, so what is still leased from here was leased by one that was killed.
  const place = `${hostname()}:${config.dataDirectory}:`
  await endLeasesFrom(db, place)
  const worker = `${place}${randomUUID()}`
  // Each work with the deployment that it is on.
  const underWay = new Map<Promise<void>, string>()
  let runningPause = lookPause.shortest
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
        const work = reconcileDeployment(application, deployment, runningPause)
          .catch((error: unknown) =>
            log.error({ err: error, deployment: deployment.id }, 'reconciling failed'),
          )
          .finally(() => {
            underWay.delete(work)
            if (atATime - underWay.size >= leasedAtOnce) wake()
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

  /** An engine that fails a request is looked at at once; these looks are for those that nobody asks anything. */
  async function setPace(): Promise<void> {
    const pause = ((await countScheduledDeployments(db)) / looksPerSecond) * 1000
    runningPause = Math.min(Math.max(pause, lookPause.shortest), lookPause.longest)
  }

  const unsubscribe = [notifications.subscribe('deployment_due', wake), notifications.onReconnected(wake)]
  const poll = setInterval(wake, pollMilliseconds)
  const renew = setInterval(() => {
    renewLeases(db, worker, [...underWay.values()], leaseSeconds).catch((error: unknown) =>
      log.error({ err: error }, 'renewing leases failed'),
    )
  }, renewMilliseconds)
  const count = setInterval(() => {
    setPace().catch((error: unknown) => log.error({ err: error }, 'counting deployments failed'))
  }, countMilliseconds)
  await setPace()
  wake()

  return {
    async stop() {
      stopped = true
      clearInterval(poll)
      clearInterval(count)
      for (const end of unsubscribe) end()
      await looking
      await Promise.all(underWay.keys())
      clearInterval(renew)
    },
  }
}
