import { RateLimitedError } from '../../base/errors.ts'
import type { CircuitBreakers } from '../../gateway/circuit-breakers.ts'
import type { EngineTarget } from './targets.ts'

/** Limits on requests in flight and in the queue. */
export interface AdmissionLimits {
  perUser: number
  perDeployment: number
  /** Most requests that wait for one deployment */
  queued: number
  queueMilliseconds: number
}

/** Requests in flight for each sequence of an engine: about what a sequence works off before callers give up waiting. */
const requestsPerSequence = 32

/** A request that can be sent to any of `targets`. */
export interface AdmissionRequest {
  userId: number
  targets: readonly EngineTarget[]
  /** Ids of deployments that refused the connection, or that the caller lost */
  refusedBy: ReadonlySet<string>
  /** Called once, immediately or later. The request must call `release` when it ends. */
  admit(target: EngineTarget): void
  /** Called instead of `admit` when the queue is full or the wait timed out. */
  reject(error: Error): void
}

export interface Admission {
  /** Requests in flight by deployment id */
  inFlight: ReadonlyMap<string, number>
  request(request: AdmissionRequest): void
  /** Returns the best target for a request; null when all are full or refused it. */
  pickTarget(request: AdmissionRequest): EngineTarget | null
  release(userId: number, deploymentId: string): void
  /** Moves an admitted request to another deployment. */
  transfer(from: string, to: string): void
  /** Removes a queued request whose caller has left. */
  cancel(request: AdmissionRequest): void
  /** Requests in the queue */
  queued(): number
  close(): void
}

interface Waiter {
  request: AdmissionRequest
  timer: NodeJS.Timeout
}

/**
 * Admits requests within the limits of their user and deployment. A few more wait briefly in a queue; the rest get a 429.
 * Each user has a queue. A request that waits for a full deployment does not block requests to other deployments. Users who wait for the
 * same shared deployment take turns.
 */
export function createAdmission(limits: AdmissionLimits, breakers: CircuitBreakers): Admission {
  const inFlight = new Map<string, number>()
  const inFlightByUser = new Map<number, number>()
  const queues = new Map<number, Waiter[]>()
  /** Queued requests to deployments with several callers */
  let sharedWaiters = 0

  const load = (deploymentId: string) => inFlight.get(deploymentId) ?? 0
  const hasRoom = ({ deploymentId, parallelSequences }: EngineTarget) =>
    load(deploymentId) < Math.min(limits.perDeployment, (parallelSequences ?? Infinity) * requestsPerSequence)

  function pickTarget({ targets, refusedBy }: AdmissionRequest): EngineTarget | null {
    if (targets.length === 1 && refusedBy.size === 0) {
      const only = targets[0]!
      return hasRoom(only) ? only : null
    }
    const available = targets.filter((target) => hasRoom(target) && !refusedBy.has(target.deploymentId))
    const healthy = available.filter(({ deploymentId }) => !breakers.isOpen(deploymentId))
    const [first, ...others] = healthy.length > 0 ? healthy : available
    if (first === undefined) return null
    return others.reduce(
      (best, other) => (load(other.deploymentId) < load(best.deploymentId) ? other : best),
      first,
    )
  }

  function tryAdmit(request: AdmissionRequest): EngineTarget | null {
    if ((inFlightByUser.get(request.userId) ?? 0) >= limits.perUser) return null
    const target = pickTarget(request)
    if (target === null) return null
    add(inFlightByUser, request.userId, 1)
    add(inFlight, target.deploymentId, 1)
    return target
  }

  function enqueue(request: AdmissionRequest): void {
    const wanted = request.targets[0]!.deploymentId
    const queue = queues.get(request.userId) ?? []
    const ahead = queue.filter(({ request: { targets } }) => targets[0]!.deploymentId === wanted).length
    if (ahead >= limits.queued) return request.reject(tooManyRequests(limits))
    const timer = setTimeout(() => {
      cancel(request)
      request.reject(tooManyRequests(limits))
    }, limits.queueMilliseconds)
    queue.push({ request, timer })
    if (isShared(request)) sharedWaiters += 1
    queues.set(request.userId, queue)
  }

  function cancel(request: AdmissionRequest): void {
    const queue = queues.get(request.userId)
    const index = queue?.findIndex((waiter) => waiter.request === request) ?? -1
    if (queue === undefined || index === -1) return
    clearTimeout(queue[index]!.timer)
    queue.splice(index, 1)
    if (isShared(request)) sharedWaiters -= 1
    if (queue.length === 0) queues.delete(request.userId)
  }

  /** Callers of a shared deployment take turns: after a request of theirs was admitted, a user waits behind the others. */
  function moveToEnd(userId: number): void {
    const queue = queues.get(userId)
    if (queue === undefined) return
    queues.delete(userId)
    queues.set(userId, queue)
  }

  function admitQueued(userId: number): void {
    // A copy, because `cancel` changes the queue.
    for (const { request } of queues.get(userId)?.slice() ?? []) {
      const target = tryAdmit(request)
      if (target === null) continue
      cancel(request)
      moveToEnd(userId)
      request.admit(target)
    }
  }

  return {
    inFlight,
    pickTarget,
    request(request) {
      const target = tryAdmit(request)
      if (target === null) enqueue(request)
      else request.admit(target)
    },
    release(userId, deploymentId) {
      add(inFlightByUser, userId, -1)
      add(inFlight, deploymentId, -1)
      if (queues.size === 0) return
      if (sharedWaiters === 0) return admitQueued(userId)
      // A copy, because `moveToEnd` changes the order.
      for (const waiting of queues.keys().toArray()) admitQueued(waiting)
    },
    transfer(from, to) {
      add(inFlight, from, -1)
      add(inFlight, to, 1)
    },
    cancel,
    queued: () => [...queues.values()].reduce((sum, queue) => sum + queue.length, 0),
    close() {
      for (const queue of queues.values()) queue.forEach(({ timer }) => clearTimeout(timer))
      queues.clear()
    },
  }
}

function isShared({ targets }: AdmissionRequest): boolean {
  return targets.some(({ sharedWith }) => sharedWith !== null)
}

function add<Key>(counts: Map<Key, number>, key: Key, change: number): void {
  const count = (counts.get(key) ?? 0) + change
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

function tooManyRequests({ queueMilliseconds }: AdmissionLimits): RateLimitedError {
  return new RateLimitedError(
    queueMilliseconds / 1000,
    'Too many of your requests are in flight. Retry in a few seconds.',
  )
}
