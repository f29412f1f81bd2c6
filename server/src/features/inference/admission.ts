import { RateLimitedError } from '../../errors.ts'
import type { EngineHealth } from './engine-health.ts'
import type { EngineTarget } from './targets.ts'

/** How many requests may be under way, and how many may wait for how long. */
export interface AdmissionLimits {
  perUser: number
  perDeployment: number
  /** Requests that wait for one deployment at most */
  queued: number
  queueMilliseconds: number
}

/** A request that wants to go to one of `targets`. */
export interface Entrant {
  userId: number
  targets: readonly EngineTarget[]
  /** Deployments that refused it already */
  refusedBy: ReadonlySet<string>
  /** Called once it may go, at once or later; it must leave by `leave` */
  enter(target: EngineTarget): void
  /** Called once it may not */
  refuse(error: Error): void
}

export interface Admission {
  /** Requests under way by deployment */
  inFlight: Map<string, number>
  request(entrant: Entrant): void
  /** The target that an entrant would go to next; null where all are full or refused it */
  choose(entrant: Entrant): EngineTarget | null
  leave(userId: number, deploymentId: string): void
  /** Moves an entrant's place from one deployment to another */
  move(from: string, to: string): void
  /** Takes out an entrant that waits, because its caller has left */
  cancel(entrant: Entrant): void
  waiting(): number
  close(): void
}

interface Waiter {
  entrant: Entrant
  timer: NodeJS.Timeout
}

/**
 * Lets requests through while their user and one of their deployments have places; a few more wait, each for a short time, and
 * beyond that the answer is 429. Deployments are their users' own, so each user has a queue, and one that waits for a full
 * deployment is passed by those that want another.
 */
export function createAdmission(limits: AdmissionLimits, health: EngineHealth): Admission {
  const inFlight = new Map<string, number>()
  const users = new Map<number, number>()
  const queues = new Map<number, Waiter[]>()

  const busy = (deploymentId: string) => inFlight.get(deploymentId) ?? 0

  function choose({ targets, refusedBy }: Entrant): EngineTarget | null {
    if (targets.length === 1 && refusedBy.size === 0) {
      const only = targets[0]!
      return busy(only.deploymentId) < limits.perDeployment ? only : null
    }
    const open = targets.filter(
      ({ deploymentId }) => busy(deploymentId) < limits.perDeployment && !refusedBy.has(deploymentId),
    )
    const sound = open.filter(({ deploymentId }) => !health.isAiling(deploymentId))
    const [first, ...others] = sound.length > 0 ? sound : open
    if (first === undefined) return null
    return others.reduce(
      (best, other) => (busy(other.deploymentId) < busy(best.deploymentId) ? other : best),
      first,
    )
  }

  function admit(entrant: Entrant): EngineTarget | null {
    if ((users.get(entrant.userId) ?? 0) >= limits.perUser) return null
    const target = choose(entrant)
    if (target === null) return null
    add(users, entrant.userId, 1)
    add(inFlight, target.deploymentId, 1)
    return target
  }

  function wait(entrant: Entrant): void {
    const wanted = entrant.targets[0]!.deploymentId
    const queue = queues.get(entrant.userId) ?? []
    const before = queue.filter(({ entrant: { targets } }) => targets[0]!.deploymentId === wanted).length
    if (before >= limits.queued) return entrant.refuse(tooBusy(limits))
    const timer = setTimeout(() => {
      cancel(entrant)
      entrant.refuse(tooBusy(limits))
    }, limits.queueMilliseconds)
    queue.push({ entrant, timer })
    queues.set(entrant.userId, queue)
  }

  function cancel(entrant: Entrant): void {
    const queue = queues.get(entrant.userId)
    const index = queue?.findIndex((waiter) => waiter.entrant === entrant) ?? -1
    if (queue === undefined || index === -1) return
    clearTimeout(queue[index]!.timer)
    queue.splice(index, 1)
    if (queue.length === 0) queues.delete(entrant.userId)
  }

  function callWaiting(userId: number): void {
    // A copy: who is called leaves the queue.
    for (const { entrant } of queues.get(userId)?.slice() ?? []) {
      const target = admit(entrant)
      if (target === null) continue
      cancel(entrant)
      entrant.enter(target)
    }
  }

  return {
    inFlight,
    choose,
    request(entrant) {
      const target = admit(entrant)
      if (target === null) wait(entrant)
      else entrant.enter(target)
    },
    leave(userId, deploymentId) {
      add(users, userId, -1)
      add(inFlight, deploymentId, -1)
      if (queues.size > 0) callWaiting(userId)
    },
    move(from, to) {
      add(inFlight, from, -1)
      add(inFlight, to, 1)
    },
    cancel,
    waiting: () => [...queues.values()].reduce((sum, queue) => sum + queue.length, 0),
    close() {
      for (const queue of queues.values()) queue.forEach(({ timer }) => clearTimeout(timer))
      queues.clear()
    },
  }
}

function add<Key>(counts: Map<Key, number>, key: Key, change: number): void {
  const count = (counts.get(key) ?? 0) + change
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

function tooBusy({ queueMilliseconds }: AdmissionLimits): RateLimitedError {
  return new RateLimitedError(
    queueMilliseconds / 1000,
    'Too many of your requests are under way; try again soon.',
  )
}
