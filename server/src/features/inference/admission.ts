import { RateLimitedError } from '../../base/errors.ts'
import type { CircuitBreakers } from '../../gateway/circuit-breakers.ts'
import type { EngineTarget } from './targets.ts'
import { Turns } from './turns.ts'
import type { TurnRequest } from './turns.ts'

/** Limits on requests in flight and in the queue. */
export interface AdmissionLimits {
  perUser: number
  perDeployment: number
  /** Most requests that wait for one deployment */
  queued: number
  queueMilliseconds: number
  /** How long a request may wait for its turn at a shared deployment */
  turnMilliseconds: number
}

/** Requests in flight for each sequence of an engine: about what a sequence works off before callers give up waiting. */
const requestsPerSequence = 32

/** A request that can be sent to any of `targets`. */
export interface AdmissionRequest extends TurnRequest {
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
  /** An admitted request has left the deployment. Its generated tokens may become known in the same turn of the event loop. */
  release(request: AdmissionRequest, deploymentId: string): void
  /** Moves an admitted request to another deployment. */
  transfer(request: AdmissionRequest, from: string, to: EngineTarget): void
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
 * Admits requests within the limits of their user and deployment. More requests wait in a queue; the rest get a 429. Each user has a
 * queue. A request that waits for a full deployment does not block requests to other deployments. A shared deployment gets only as many
 * requests as its engine processes at the same time, because the engine's own queue knows no turns. The others wait here for theirs.
 */
export function createAdmission(limits: AdmissionLimits, breakers: CircuitBreakers): Admission {
  const inFlight = new Map<string, number>()
  const inFlightByUser = new Map<number, number>()
  const queues = new Map<number, Waiter[]>()
  /** Of shared deployments with requests, by id */
  const turns = new Map<string, Turns>()
  /** Queued requests to deployments with several callers */
  let sharedWaiters = 0

  const load = (deploymentId: string) => inFlight.get(deploymentId) ?? 0
  const hasRoom = (target: EngineTarget) =>
    load(target.deploymentId) < findPlaces(target, limits, target.sharedWith === null)
  const mayStart = (userId: number) => (inFlightByUser.get(userId) ?? 0) < limits.perUser

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

  function enter(request: AdmissionRequest, { deploymentId, sharedWith }: EngineTarget): void {
    add(inFlightByUser, request.userId, 1)
    add(inFlight, deploymentId, 1)
    if (sharedWith !== null) turnsOf(deploymentId).enter(request)
  }

  function turnsOf(deploymentId: string): Turns {
    const existing = turns.get(deploymentId)
    if (existing !== undefined) return existing
    const created = new Turns()
    turns.set(deploymentId, created)
    return created
  }

  function leave({ userId }: AdmissionRequest, deploymentId: string): void {
    add(inFlightByUser, userId, -1)
    add(inFlight, deploymentId, -1)
  }

  function tryAdmit(request: AdmissionRequest): EngineTarget | null {
    const target = mayStart(request.userId) ? pickTarget(request) : null
    if (target !== null) enter(request, target)
    return target
  }

  function enqueue(request: AdmissionRequest): void {
    const wanted = request.targets[0]!
    const shared = isShared(request)
    const queue = queues.get(request.userId) ?? []
    const ahead = queue.filter(
      ({ request: { targets } }) => targets[0]!.deploymentId === wanted.deploymentId,
    ).length
    // What an unshared deployment has in flight beyond the sequences of its engine waits here.
    const places = shared ? findPlaces(wanted, limits, true) : 0
    if (ahead >= places + limits.queued) return request.reject(tooManyRequests(limits))
    const timer = setTimeout(
      () => {
        cancel(request)
        request.reject(tooManyRequests(limits))
      },
      shared ? limits.turnMilliseconds : limits.queueMilliseconds,
    )
    queue.push({ request, timer })
    if (shared) sharedWaiters += 1
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

  /** Admits what the user's own requests in flight kept waiting. */
  function admitQueued(userId: number): void {
    const shared = new Set<string>()
    // A copy, because `cancel` changes the queue.
    for (const { request } of queues.get(userId)?.slice() ?? []) {
      if (isShared(request)) {
        for (const { deploymentId } of request.targets) shared.add(deploymentId)
        continue
      }
      const target = tryAdmit(request)
      if (target === null) continue
      cancel(request)
      request.admit(target)
    }
    for (const deploymentId of shared) admitByTurns(deploymentId)
  }

  /** Admits requests that wait for a shared deployment while it has room. */
  function admitByTurns(deploymentId: string): void {
    for (;;) {
      const waiting = findWaiting(deploymentId)
      if (waiting.size === 0) break
      const userId = turnsOf(deploymentId).next(waiting.keys())
      const { request, target } = waiting.get(userId)!
      cancel(request)
      enter(request, target)
      request.admit(target)
    }
    const found = turns.get(deploymentId)
    if (found === undefined) return
    if (!isAwaited(deploymentId)) found.rest()
    if (found.isIdle) turns.delete(deploymentId)
  }

  function isAwaited(deploymentId: string): boolean {
    return (
      sharedWaiters > 0 &&
      queues
        .values()
        .some((queue) => queue.some(({ request }) => isShared(request) && findTarget(request, deploymentId)))
    )
  }

  /** The first request of each user that a deployment has room for. */
  function findWaiting(deploymentId: string) {
    const waiting = new Map<number, { request: AdmissionRequest; target: EngineTarget }>()
    if (sharedWaiters === 0) return waiting
    for (const [userId, queue] of queues) {
      if (!mayStart(userId)) continue
      for (const { request } of queue) {
        const target = isShared(request) ? findTarget(request, deploymentId) : undefined
        if (target === undefined) continue
        if (hasRoom(target)) waiting.set(userId, { request, target })
        break
      }
    }
    return waiting
  }

  return {
    inFlight,
    pickTarget,
    request(request) {
      // Somebody may wait although there is room.
      const waits = sharedWaiters > 0 && isShared(request)
      const target = waits ? null : tryAdmit(request)
      if (target !== null) return request.admit(target)
      enqueue(request)
      if (waits) for (const { deploymentId } of request.targets) admitByTurns(deploymentId)
    },
    release(request, deploymentId) {
      leave(request, deploymentId)
      if (sharedWaiters > 0 || turns.has(deploymentId)) {
        queueMicrotask(() => {
          turns.get(deploymentId)?.leave(request)
          admitByTurns(deploymentId)
        })
      }
      if (queues.size > 0) admitQueued(request.userId)
    },
    transfer(request, from, to) {
      leave(request, from)
      turns.get(from)?.leave(request)
      enter(request, to)
    },
    cancel,
    queued: () => [...queues.values()].reduce((sum, queue) => sum + queue.length, 0),
    close() {
      for (const queue of queues.values()) queue.forEach(({ timer }) => clearTimeout(timer))
      queues.clear()
    },
  }
}

/** How many requests a deployment may have in flight: with a queue in its engine, or only those that the engine processes. */
function findPlaces(
  { parallelSequences }: EngineTarget,
  { perDeployment }: AdmissionLimits,
  usesEngineQueue: boolean,
): number {
  const perSequence = usesEngineQueue ? requestsPerSequence : 1
  return Math.min(perDeployment, (parallelSequences ?? Infinity) * perSequence)
}

function findTarget(
  { targets, refusedBy }: AdmissionRequest,
  deploymentId: string,
): EngineTarget | undefined {
  return refusedBy.has(deploymentId)
    ? undefined
    : targets.find((target) => target.deploymentId === deploymentId)
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
