import type { EngineTarget } from '../targets/targets.ts'

/** A request that can be sent to any of `targets`. */
export interface TargetedRequest {
  readonly userId: number
  targets: readonly EngineTarget[]
  /** Ids of instances that refused the connection, or that the caller lost */
  refusedBy: ReadonlySet<string>
}

interface Waiting {
  /** The deployment that it would go to first when it began to wait */
  wanted: string
  /** To a deployment with several callers when it began to wait */
  isShared: boolean
  timer: NodeJS.Timeout
}

/** The requests of a user in the order of their arrival. */
class Queue<Request> {
  readonly requests = new Map<Request, Waiting>()
  /** By the deployment that they would go to first */
  readonly counts = new Map<string, number>()

  count(wanted: string, change: number): void {
    this.counts.set(wanted, (this.counts.get(wanted) ?? 0) + change)
  }
}

/** The requests that wait, in a queue for each user. */
export class WaitingRequests<Request extends TargetedRequest> {
  readonly #queues = new Map<number, Queue<Request>>()
  /** Requests to deployments with several callers */
  #shared = 0

  get size(): number {
    return this.#queues.values().reduce((sum, queue) => sum + queue.requests.size, 0)
  }

  get isEmpty(): boolean {
    return this.#queues.size === 0
  }

  /** Whether a request to a deployment with several callers waits */
  get hasShared(): boolean {
    return this.#shared > 0
  }

  /** Adds a request, and removes it and calls `onTimeout` when it has waited for `milliseconds`. */
  add(request: Request, milliseconds: number, onTimeout: () => void): void {
    const timer = setTimeout(() => {
      this.remove(request)
      onTimeout()
    }, milliseconds)
    const queue = this.#queues.get(request.userId) ?? new Queue<Request>()
    const wanted = request.targets[0]!.deploymentId
    const waiting = { wanted, isShared: isShared(request), timer }
    queue.requests.set(request, waiting)
    queue.count(wanted, 1)
    this.#queues.set(request.userId, queue)
    if (waiting.isShared) this.#shared += 1
  }

  /** Removes a request if it waits. */
  remove(request: Request): void {
    const queue = this.#queues.get(request.userId)
    const waiting = queue?.requests.get(request)
    if (queue === undefined || waiting === undefined) return
    queue.requests.delete(request)
    queue.count(waiting.wanted, -1)
    clearTimeout(waiting.timer)
    if (waiting.isShared) this.#shared -= 1
    if (queue.requests.size === 0) this.#queues.delete(request.userId)
  }

  /** The first target of each request */
  *firstTargets(): Generator<EngineTarget> {
    for (const { requests } of this.#queues.values()) {
      for (const { targets } of requests.keys()) yield targets[0]!
    }
  }

  userIds(): number[] {
    return [...this.#queues.keys()]
  }

  /** All requests, those of a user in the order of their arrival */
  list(): Request[] {
    return this.userIds().flatMap((userId) => [...this.listOf(userId)])
  }

  /** A user's requests. While they are read, requests may be removed. */
  listOf(userId: number): Iterable<Request> {
    return this.#queues.get(userId)?.requests.keys() ?? []
  }

  /** How many requests of the same user wait for the same first target */
  countAhead({ userId, targets }: Request): number {
    return this.#queues.get(userId)?.counts.get(targets[0]!.deploymentId) ?? 0
  }

  /** Whether a request waits for a deployment with several callers */
  isAwaited(deploymentId: string): boolean {
    return this.hasShared && !this.firstOfEach(deploymentId).next().done
  }

  /** Each user's first request to a deployment with several callers, with its possible instances. */
  *firstOfEach(deploymentId: string): Generator<{ request: Request; targets: readonly EngineTarget[] }> {
    for (const { requests } of this.#queues.values()) {
      for (const request of requests.keys()) {
        const targets = isShared(request) ? findTargets(request, deploymentId) : []
        if (targets.length === 0) continue
        yield { request, targets }
        break
      }
    }
  }

  clear(): void {
    for (const { requests } of this.#queues.values()) {
      for (const { timer } of requests.values()) clearTimeout(timer)
    }
    this.#queues.clear()
    this.#shared = 0
  }
}

/** Whether a request may go to a deployment with several callers */
export function isShared({ targets }: TargetedRequest): boolean {
  return targets.some(({ sharedWith }) => sharedWith !== null)
}

function findTargets({ targets, refusedBy }: TargetedRequest, deploymentId: string): EngineTarget[] {
  return targets.filter((target) => target.deploymentId === deploymentId && !refusedBy.has(target.instanceId))
}
