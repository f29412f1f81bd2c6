import type { EngineTarget } from './targets.ts'

/** A request that can be sent to any of `targets`. */
export interface TargetedRequest {
  readonly userId: number
  targets: readonly EngineTarget[]
  /** Ids of instances that refused the connection, or that the caller lost */
  refusedBy: ReadonlySet<string>
}

interface Waiter<Request> {
  request: Request
  /** To a deployment with several callers when it began to wait */
  isShared: boolean
  timer: NodeJS.Timeout
}

/** The requests that wait, in a queue for each user. */
export class WaitingRequests<Request extends TargetedRequest> {
  readonly #queues = new Map<number, Waiter<Request>[]>()
  /** Requests to deployments with several callers */
  #shared = 0

  get size(): number {
    return this.#queues.values().reduce((sum, queue) => sum + queue.length, 0)
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
    const queue = this.#queues.get(request.userId) ?? []
    const waiter = { request, isShared: isShared(request), timer }
    queue.push(waiter)
    this.#queues.set(request.userId, queue)
    if (waiter.isShared) this.#shared += 1
  }

  /** Removes a request if it waits. */
  remove(request: Request): void {
    const queue = this.#queues.get(request.userId)
    const index = queue?.findIndex((waiter) => waiter.request === request) ?? -1
    if (queue === undefined || index === -1) return
    const [waiter] = queue.splice(index, 1)
    clearTimeout(waiter!.timer)
    if (waiter!.isShared) this.#shared -= 1
    if (queue.length === 0) this.#queues.delete(request.userId)
  }

  /** The first target of each request */
  *firstTargets(): Generator<EngineTarget> {
    for (const queue of this.#queues.values()) for (const { request } of queue) yield request.targets[0]!
  }

  userIds(): number[] {
    return [...this.#queues.keys()]
  }

  /** All requests, those of a user in the order of their arrival */
  list(): Request[] {
    return this.userIds().flatMap((userId) => this.listOf(userId))
  }

  /** A copy of a user's queue */
  listOf(userId: number): Request[] {
    return this.#queues.get(userId)?.map(({ request }) => request) ?? []
  }

  /** How many requests of the same user wait for the same first target */
  countAhead({ userId, targets }: Request): number {
    const wanted = targets[0]!.deploymentId
    const queue = this.#queues.get(userId) ?? []
    return queue.filter(({ request }) => request.targets[0]!.deploymentId === wanted).length
  }

  /** Whether a request waits for a deployment with several callers */
  isAwaited(deploymentId: string): boolean {
    return this.hasShared && !this.firstOfEach(deploymentId).next().done
  }

  /** Yields each user's first request to a deployment with several callers, and the instances that may serve it. */
  *firstOfEach(deploymentId: string): Generator<{ request: Request; targets: readonly EngineTarget[] }> {
    for (const queue of this.#queues.values()) {
      for (const { request } of queue) {
        const targets = isShared(request) ? findTargets(request, deploymentId) : []
        if (targets.length === 0) continue
        yield { request, targets }
        break
      }
    }
  }

  clear(): void {
    for (const queue of this.#queues.values()) queue.forEach(({ timer }) => clearTimeout(timer))
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
