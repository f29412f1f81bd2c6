import type { Logger } from 'pino'
import { isDatabaseUnavailable } from '../../../database/connect.ts'
import type { Notifications } from '../../../database/notifications.ts'
import type { Database } from '../../../database/tables.ts'
import type { ApplicationError } from '../../../base/errors.ts'
import { OpenList } from '../../../base/open-list.ts'
import { personsOf } from '../../deployments/serving/asker.ts'
import type { Asker } from '../../deployments/serving/asker.ts'
import { findLostAccess } from '../../deployments/serving/lost-access.ts'
import type { Access } from '../../deployments/serving/lost-access.ts'
import { findLostEngines } from '../../deployments/serving/serving-deployments.ts'
import type { EngineTarget } from '../targets/targets.ts'

/** A request in flight that fails when its caller loses access, and moves when its engine is lost. */
export interface Revocable extends Access {
  /** Its index among the requests in flight, which `OpenRequests` sets; -1 for none */
  openIndex: number
  /** When the request arrived, before its caller was looked up, on the clock of `performance.now()` */
  readonly arrivedAt: number
  /** Where the request is at an engine that has not answered yet; null otherwise */
  readonly silentTarget: Pick<EngineTarget, 'instanceId' | 'engineUrl'> | null
  /** Sends the request to another engine, if there is one. */
  leaveLostEngine(): void
  /** Takes these deployments from the request, which fails with this error if it can't do without them. */
  loseDeployments(ids: ReadonlySet<string>, error: ApplicationError): void
  fail(error: unknown, brokenBy: 'gateway'): void
  /** The server is about to close the connection. */
  stop(error: ApplicationError): void
}

/** The requests in flight of this process. */
export interface OpenRequests {
  add(request: Revocable): void
  delete(request: Revocable): void
  /** Ends all requests with this error. */
  stopAll(error: ApplicationError): void
  close(): void
}

/** The access of a request counts for so long while the database can't confirm it. */
const outageMilliseconds = 300_000
const retryMilliseconds = 500

/** Fails requests whose caller lost the session or the access. Moves those of a lost engine. */
export function trackOpenRequests(
  db: Database,
  notifications: Notifications,
  log: Pick<Logger, 'warn'>,
): OpenRequests {
  const open = new OpenList<Revocable>()
  const checks = new AccessChecks(db, log)
  let changedAt = -Infinity
  const listOf = (payload: string) =>
    open.list().filter(({ asker }) => payload === '' || concerns(asker, Number(payload)))
  function checkAccess(requests: readonly Revocable[]): void {
    changedAt = performance.now()
    checks.check(requests)
  }
  function checkAll(requests: readonly Revocable[]): void {
    checkAccess(requests)
    leaveLostEngines(db, requests).catch((error: unknown) =>
      log.warn({ err: error }, 'could not move requests of lost engines'),
    )
  }
  const stops = [
    notifications.subscribe('session_revoked', (payload) => checkAccess(listOf(payload))),
    // A deployment may not be shared anymore, or have another owner, or an engine less.
    notifications.subscribe('deployment_changed', (payload) => checkAll(listOf(payload))),
    notifications.onReconnected(() => checkAll(open.list())),
  ]
  return {
    add(request) {
      open.add(request)
      // The caller may have lost access while the body arrived.
      if (request.arrivedAt <= changedAt) checks.check([request])
    },
    delete: (request) => open.delete(request),
    stopAll(error) {
      for (const request of open.list()) request.stop(error)
    },
    close() {
      stops.forEach((stop) => stop())
      checks.close()
    },
  }
}

/** Moves requests from lost engines: a dead machine closes no connection, so they would time out. */
async function leaveLostEngines(db: Database, requests: readonly Revocable[]): Promise<void> {
  const targets = requests.flatMap(({ silentTarget }) => silentTarget ?? [])
  const lost = await findLostEngines(db, targets)
  if (lost.size === 0) return
  for (const request of requests) {
    const target = request.silentTarget
    if (target !== null && lost.has(target.instanceId)) request.leaveLostEngine()
  }
}

/** Fails requests that lost access. Without a database it retries for five minutes, then fails the rest. */
class AccessChecks {
  readonly #db: Database
  readonly #log: Pick<Logger, 'warn'>
  /** Requests to ask about again, with the time of their first check on the monotonic clock */
  #unconfirmed = new Map<Revocable, number>()
  #retry: NodeJS.Timeout | undefined
  #closed = false

  constructor(db: Database, log: Pick<Logger, 'warn'>) {
    this.#db = db
    this.#log = log
  }

  check(requests: readonly Revocable[]): void {
    const now = performance.now()
    void this.#ask(new Map(requests.map((request) => [request, now])))
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#retry)
  }

  async #ask(since: ReadonlyMap<Revocable, number>): Promise<void> {
    const requests = [...since.keys()].filter(isOpen)
    if (requests.length === 0) return
    try {
      for (const { access: request, deploymentIds, error } of await findLostAccess(this.#db, requests)) {
        if (!isOpen(request)) continue
        if (deploymentIds === null) request.fail(error, 'gateway')
        else request.loseDeployments(deploymentIds, error)
      }
    } catch (error) {
      const oldest = isDatabaseUnavailable(error) ? performance.now() - outageMilliseconds : Infinity
      const expired = requests.filter((request) => since.get(request)! <= oldest)
      if (expired.length > 0) {
        this.#log.warn(
          { err: error, requests: expired.length },
          'nobody can confirm the access of requests; they fail',
        )
      }
      for (const request of expired) if (isOpen(request)) request.fail(error, 'gateway')
      this.#askAgain(since)
    }
  }

  #askAgain(since: ReadonlyMap<Revocable, number>): void {
    for (const [request, first] of since) {
      if (isOpen(request)) {
        this.#unconfirmed.set(request, Math.min(first, this.#unconfirmed.get(request) ?? first))
      }
    }
    if (this.#unconfirmed.size === 0 || this.#closed) return
    this.#retry ??= setTimeout(() => {
      const due = this.#unconfirmed
      this.#unconfirmed = new Map()
      this.#retry = undefined
      void this.#ask(due)
    }, retryMilliseconds)
  }
}

/** Whether a change of a user's access may end a request. */
function concerns(asker: Asker, userId: number): boolean {
  return personsOf(asker).some((person) => person.userId === userId)
}

function isOpen({ openIndex }: Revocable): boolean {
  return openIndex >= 0
}
