import type { Arrival } from './load-arrivals.ts'

export interface SimulatedInstance {
  id: string
  status: 'starting' | 'running' | 'draining'
  startedAt: number
  inFlight: number
}

/** What a rule sees. Times are milliseconds since the day's beginning. */
export interface SimulatedLoad {
  now: number
  inFlight: number
  queued: number
  /** Requests that arrived so far */
  arrived: number
  instances: readonly SimulatedInstance[]
}

/**
 * A rule that says how many instances should run or start. It may keep state; each simulation has its own.
 */
export interface ScalingRule {
  name: string
  intervalMilliseconds: number
  decide(load: SimulatedLoad): number
}

export interface SimulatedFleet {
  /** Requests that an instance works on at the same time */
  sequences: number
  startMilliseconds: number
  minInstances: number
  maxInstances: number
  /** A request that waits longer is refused. */
  patienceMilliseconds: number
}

export interface LoadResult {
  gpuSeconds: number
  /** Of the requests that were served, in ascending order */
  waits: Float64Array
  refused: number
  mostInstances: number
}

/**
 * Plays the requests of a day on instances whose number a rule decides. Requests wait in one queue for a free
 * sequence.
 */
export function simulateLoad(
  rule: ScalingRule,
  arrivals: readonly Arrival[],
  fleet: SimulatedFleet,
): LoadResult {
  const cluster = new Cluster(fleet)
  let nextDecision = 0
  for (const [index, arrival] of arrivals.entries()) {
    for (; nextDecision <= arrival.at; nextDecision += rule.intervalMilliseconds) {
      cluster.advance(nextDecision)
      cluster.setInstances(rule.decide(cluster.observe(index)))
    }
    cluster.advance(arrival.at)
    cluster.add(arrival)
  }
  return cluster.finish()
}

class Cluster {
  readonly #fleet: SimulatedFleet
  readonly #instances: SimulatedInstance[] = []
  readonly #ends = new EventHeap()
  readonly #waits: number[] = []
  #queue: Arrival[] = []
  #queueStart = 0
  #now = 0
  #started = 0
  #inFlight = 0
  #gpuMilliseconds = 0
  #refused = 0
  #most = 0

  constructor(fleet: SimulatedFleet) {
    this.#fleet = fleet
    this.setInstances(fleet.minInstances)
    for (const instance of this.#instances) instance.status = 'running'
  }

  observe(arrived: number): SimulatedLoad {
    return {
      now: this.#now,
      inFlight: this.#inFlight,
      queued: this.#queue.length - this.#queueStart,
      arrived,
      instances: this.#instances,
    }
  }

  /** Starts instances, or drains the newest. */
  setInstances(count: number): void {
    const { minInstances, maxInstances } = this.#fleet
    const wanted = Math.min(Math.max(count, minInstances), maxInstances)
    const present = this.#instances.filter(({ status }) => status !== 'draining')
    for (let missing = wanted - present.length; missing > 0; missing -= 1) {
      this.#started += 1
      this.#instances.push({
        id: `instance-${this.#started}`,
        status: 'starting',
        startedAt: this.#now,
        inFlight: 0,
      })
    }
    for (const instance of present.slice(wanted)) {
      instance.status = 'draining'
      if (instance.inFlight === 0) this.#release(instance)
    }
    this.#most = Math.max(this.#most, this.#instances.length)
  }

  add(arrival: Arrival): void {
    this.#queue.push(arrival)
    this.#serve()
  }

  /** Lets requests end and instances become ready until a time. */
  advance(to: number): void {
    for (;;) {
      const ready = this.#instances.find(({ status }) => status === 'starting')
      const readyAt = ready === undefined ? Infinity : ready.startedAt + this.#fleet.startMilliseconds
      const endAt = this.#ends.firstAt
      if (Math.min(readyAt, endAt) > to) break
      this.#now = Math.min(readyAt, endAt)
      if (readyAt <= endAt) ready!.status = 'running'
      else this.#end(this.#ends.pop())
      this.#serve()
    }
    this.#now = to
  }

  finish(): LoadResult {
    this.#refused += this.#queue.length - this.#queueStart
    while (this.#instances.length > 0) this.#release(this.#instances[0]!)
    return {
      gpuSeconds: this.#gpuMilliseconds / 1000,
      waits: Float64Array.from(this.#waits).toSorted(),
      refused: this.#refused,
      mostInstances: this.#most,
    }
  }

  #end(instance: SimulatedInstance): void {
    instance.inFlight -= 1
    this.#inFlight -= 1
    if (instance.status === 'draining' && instance.inFlight === 0) this.#release(instance)
  }

  #release(instance: SimulatedInstance): void {
    this.#gpuMilliseconds += this.#now - instance.startedAt
    this.#instances.splice(this.#instances.indexOf(instance), 1)
  }

  #serve(): void {
    while (this.#queueStart < this.#queue.length) {
      const request = this.#queue[this.#queueStart]!
      const waited = this.#now - request.at
      const instance = this.#findFree()
      if (waited > this.#fleet.patienceMilliseconds) this.#refused += 1
      else if (instance === undefined) return
      else {
        instance.inFlight += 1
        this.#inFlight += 1
        this.#waits.push(waited)
        this.#ends.push(this.#now + request.duration, instance)
      }
      this.#queueStart += 1
    }
    this.#queue = []
    this.#queueStart = 0
  }

  #findFree(): SimulatedInstance | undefined {
    let best: SimulatedInstance | undefined
    for (const instance of this.#instances) {
      if (instance.status !== 'running' || instance.inFlight >= this.#fleet.sequences) continue
      if (best === undefined || instance.inFlight < best.inFlight) best = instance
    }
    return best
  }
}

/** The ends of requests, earliest first: a binary heap. */
class EventHeap {
  readonly #events: { at: number; instance: SimulatedInstance }[] = []

  get firstAt(): number {
    return this.#events[0]?.at ?? Infinity
  }

  push(at: number, instance: SimulatedInstance): void {
    const events = this.#events
    let index = events.push({ at, instance }) - 1
    while (index > 0 && events[(index - 1) >> 1]!.at > at) {
      events[index] = events[(index - 1) >> 1]!
      index = (index - 1) >> 1
    }
    events[index] = { at, instance }
  }

  pop(): SimulatedInstance {
    const events = this.#events
    const first = events[0]!
    const last = events.pop()!
    if (events.length === 0) return first.instance
    let index = 0
    for (let child = 1; child < events.length; child = 2 * index + 1) {
      if (child + 1 < events.length && events[child + 1]!.at < events[child]!.at) child += 1
      if (events[child]!.at >= last.at) break
      events[index] = events[child]!
      index = child
    }
    events[index] = last
    return first.instance
  }
}
