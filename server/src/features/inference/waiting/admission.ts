import { RateLimitedError } from '../../../base/errors.ts'
import type { Config } from '../../../config/config.ts'
import type { CircuitBreakers } from '../../../gateway/circuit-breakers.ts'
import type { Asker } from '../../deployments/serving/asker.ts'
import type { ReportedLoad } from '../../deployments/serving/instance-loads.ts'
import { Counts } from './counts.ts'
import type { ReadonlyCounts } from './counts.ts'
import { pickByHash } from './prefix-routing.ts'
import type { EngineTarget } from '../targets/targets.ts'
import { Turns } from './turns.ts'
import type { TurnRequest } from './turns.ts'
import { WaitingRequests, isShared } from './waiting-requests.ts'
import type { TargetedRequest } from './waiting-requests.ts'

export type AdmissionLimits = Config['inference']['limits']

/** Requests in flight per sequence: about what a sequence works off before callers give up waiting. */
const requestsPerSequence = 32

export interface AdmissionRequest extends TargetedRequest, TurnRequest {
  readonly asker: Asker
  /** As the request names it */
  readonly model: string
  /** Its targets are of later orders of the alias; 0 for the first or only ones */
  readonly afterOrder: number
  /** It can go to other deployments, so that it does not wait long for its turn. */
  readonly fallsBack: boolean
  /** How many of the engine's sequences it needs, which may be more than there are */
  readonly sequences: number
  /** False if the engine refused the request or only counted its tokens, which keeps no deployment awake */
  readonly isUse: boolean
  /** A hash that all requests of a conversation have; null for others. Called only if there is a choice. */
  hashPrefix(): number | null
  /** Called once, immediately or later. The request must call `release` when it ends. */
  admit(target: EngineTarget): void
  /** Called instead of `admit` when the queue is full or the wait timed out. */
  onFull(error: Error): void
  /** Called instead of `onFull` if the user may have no more requests in flight anywhere. */
  fail(error: Error, brokenBy: null): void
}

/**
 * Admits requests within the limits of their user and instance. More wait, in a queue per user; the rest get
 * a 429. A request for a full deployment does not block requests to others. An instance of a shared one gets
 * only as many sequences as its engine processes at the same time, because the engine's queue knows no turns;
 * a request that needs more gets it alone.
 */
export class Admission {
  readonly #limits: AdmissionLimits
  readonly #breakers: CircuitBreakers
  readonly #inFlight = new Counts<string>()
  readonly #inFlightByDeployment = new Counts<string>()
  /** Sequences of the requests in flight by instance id */
  readonly #sequences = new Counts<string>()
  /** Estimated tokens of the prompts in flight by instance id */
  readonly #tokens = new Counts<string>()
  /** Instances that had a request since `takeLoads`, and whether one of those that ended was a use */
  #reached = new Map<string, boolean>()
  readonly #inFlightByUser = new Counts<number>()
  readonly #allCounts = [
    this.#inFlight,
    this.#inFlightByDeployment,
    this.#sequences,
    this.#tokens,
    this.#inFlightByUser,
  ]
  readonly #waiting = new WaitingRequests<AdmissionRequest>()
  /** Of shared deployments with requests, by id */
  readonly #turns = new Map<string, Turns>()
  /** The users whose turn it is, but whose request needs more sequences than are free, by deployment id */
  readonly #reserved = new Map<string, number>()

  constructor(limits: AdmissionLimits, breakers: CircuitBreakers) {
    this.#limits = limits
    this.#breakers = breakers
  }

  /** Requests in flight by instance id */
  get inFlight(): ReadonlyCounts {
    return this.#inFlight
  }

  /** Requests in flight by deployment id */
  get inFlightByDeployment(): ReadonlyCounts {
    return this.#inFlightByDeployment
  }

  /** The load of each instance that had a request since the last call. */
  takeLoads(): ReportedLoad[] {
    const waiting = new Counts<string>()
    for (const { instanceId } of this.#waiting.firstTargets()) waiting.add(instanceId, 1)
    const ids = new Set([...this.#reached.keys(), ...waiting.keys()])
    const loads = Array.from(ids, (instanceId) => ({
      instanceId,
      inFlight: this.#inFlight.get(instanceId) + waiting.get(instanceId),
      isUsed: this.#reached.get(instanceId) === true,
    }))
    this.#reached = new Map([...this.#inFlight.keys()].map((id) => [id, false]))
    for (const counts of this.#allCounts) counts.sweep()
    return loads
  }

  /** Requests in the queue by the deployment that they would go to first */
  countWaiting(): Counts<string> {
    const counts = new Counts<string>()
    for (const { deploymentId } of this.#waiting.firstTargets()) counts.add(deploymentId, 1)
    return counts
  }

  /** Requests in the queue */
  get queued(): number {
    return this.#waiting.size
  }

  /** The requests in the queue */
  get waiting(): readonly AdmissionRequest[] {
    return this.#waiting.list()
  }

  /** Admits requests in the queue whose targets have changed. */
  retry(): void {
    for (const userId of this.#waiting.userIds()) this.#admitOwn(userId)
  }

  /** Admits a request, lets it wait, or rejects it. */
  request(request: AdmissionRequest): void {
    // Somebody may wait although there is room.
    const waits = this.#waiting.hasShared && isShared(request)
    const target = waits ? null : this.#tryAdmit(request)
    if (target !== null) return request.admit(target)
    this.#enqueue(request)
    if (waits) for (const { deploymentId } of request.targets) this.#admitByTurns(deploymentId)
  }

  /** The best target; null if all are full or refused it. Conversations go by prefix, others by load. */
  pickTarget(request: AdmissionRequest): EngineTarget | null {
    const { targets, refusedBy } = request
    if (targets.length === 1 && refusedBy.size === 0) {
      const only = targets[0]!
      return this.#hasRoom(only) ? only : null
    }
    return this.#pickAmong(
      request,
      targets.filter(({ instanceId }) => !refusedBy.has(instanceId)),
    )
  }

  /** A request has left its instance. Its tokens may become known in the same turn of the event loop. */
  release(request: AdmissionRequest, target: EngineTarget): void {
    const { deploymentId } = target
    this.#leave(request, target)
    if (this.#waiting.hasShared || this.#turns.has(deploymentId)) {
      queueMicrotask(() => {
        this.#turns.get(deploymentId)?.leave(request)
        this.#admitByTurns(deploymentId)
      })
    }
    if (!this.#waiting.isEmpty) this.#admitOwn(request.userId)
  }

  /** Moves an admitted request to another instance. */
  transfer(request: AdmissionRequest, from: EngineTarget, to: EngineTarget): void {
    this.#leave(request, from)
    this.#turns.get(from.deploymentId)?.leave(request)
    this.#enter(request, to)
  }

  /** Removes a queued request whose caller has left. */
  cancel(request: AdmissionRequest): void {
    this.#waiting.remove(request)
  }

  close(): void {
    this.#waiting.clear()
  }

  #load({ instanceId }: EngineTarget): number {
    return this.#inFlight.get(instanceId)
  }

  #pickAmong(request: AdmissionRequest, targets: readonly EngineTarget[]): EngineTarget | null {
    const free = targets.filter((target) => this.#hasRoom(target))
    const fitting = free.filter((target) => this.#fits(request, target))
    const available = fitting.length > 0 ? fitting : free
    const healthy = available.filter(({ instanceId }) => !this.#breakers.isOpen(instanceId))
    const candidates = healthy.length > 0 ? healthy : available
    const [first, ...others] = candidates
    if (first === undefined || others.length === 0) return first ?? null
    const hash = request.hashPrefix()
    if (hash !== null) return this.#pickByHash(hash, candidates)
    return others.reduce((best, other) => (this.#load(other) < this.#load(best) ? other : best), first)
  }

  #pickByHash(hash: number, targets: readonly EngineTarget[]): EngineTarget {
    const places = targets.map((target) => ({
      id: target.instanceId,
      requests: this.#load(target),
      sequences: target.parallelSequences ?? Infinity,
      tokens: this.#tokens.get(target.instanceId),
      target,
    }))
    return pickByHash(hash, places).target
  }

  #hasRoom(target: EngineTarget): boolean {
    if (target.sharedWith === null) return this.#load(target) < findPlaces(target, this.#limits, true)
    return this.#sequences.get(target.instanceId) < findPlaces(target, this.#limits, false)
  }

  /** True if a request may go to an instance with room now. One that needs all sequences waits for them. */
  #fits({ sequences }: AdmissionRequest, target: EngineTarget): boolean {
    const used = this.#sequences.get(target.instanceId)
    return (
      target.sharedWith === null || used === 0 || used + sequences <= findPlaces(target, this.#limits, false)
    )
  }

  #mayStart(userId: number): boolean {
    return this.#inFlightByUser.get(userId) < this.#limits.perUser
  }

  #tryAdmit(request: AdmissionRequest): EngineTarget | null {
    const target = this.#mayStart(request.userId) ? this.pickTarget(request) : null
    if (target === null || !this.#fits(request, target)) return null
    this.#enter(request, target)
    return target
  }

  #enter(request: AdmissionRequest, { instanceId, deploymentId, sharedWith }: EngineTarget): void {
    this.#inFlightByUser.add(request.userId, 1)
    this.#inFlight.add(instanceId, 1)
    if (!this.#reached.has(instanceId)) this.#reached.set(instanceId, false)
    this.#inFlightByDeployment.add(deploymentId, 1)
    this.#sequences.add(instanceId, request.sequences)
    this.#tokens.add(instanceId, request.promptTokens)
    if (sharedWith !== null) this.#turnsOf(deploymentId).enter(request)
  }

  #leave(
    { userId, promptTokens, sequences, isUse }: AdmissionRequest,
    { instanceId, deploymentId }: Pick<EngineTarget, 'instanceId' | 'deploymentId'>,
  ): void {
    this.#inFlightByUser.add(userId, -1)
    this.#inFlight.add(instanceId, -1)
    this.#reached.set(instanceId, isUse || this.#reached.get(instanceId) === true)
    this.#inFlightByDeployment.add(deploymentId, -1)
    this.#sequences.add(instanceId, -sequences)
    this.#tokens.add(instanceId, -promptTokens)
  }

  #turnsOf(deploymentId: string): Turns {
    const existing = this.#turns.get(deploymentId)
    if (existing !== undefined) return existing
    const created = new Turns()
    this.#turns.set(deploymentId, created)
    return created
  }

  #enqueue(request: AdmissionRequest): void {
    const wanted = request.targets[0]!
    const shared = isShared(request)
    const { queuedPerUser, turnMilliseconds, queueMilliseconds } = this.#limits
    // What an unshared deployment has in flight beyond the sequences of its engine waits here.
    const places = shared ? findPlaces(wanted, this.#limits, true) : 0
    if (this.#waiting.countAhead(request) >= places + queuedPerUser) {
      return this.#reject(request)
    }
    const milliseconds = shared && !request.fallsBack ? turnMilliseconds : queueMilliseconds
    this.#waiting.add(request, milliseconds, () => this.#reject(request))
  }

  #reject(request: AdmissionRequest): void {
    const error = tooManyRequests(this.#limits)
    if (this.#mayStart(request.userId)) request.onFull(error)
    else request.fail(error, null)
  }

  /** Admits what the user's own requests in flight kept waiting. */
  #admitOwn(userId: number): void {
    const shared = new Set<string>()
    // Most requests of a long queue have the same targets.
    const full = new Set<readonly EngineTarget[]>()
    for (const request of this.#waiting.listOf(userId)) {
      if (!this.#mayStart(userId)) break
      if (full.has(request.targets)) continue
      if (isShared(request)) {
        for (const { deploymentId } of request.targets) shared.add(deploymentId)
        continue
      }
      const target = this.#tryAdmit(request)
      if (target === null) {
        if (request.refusedBy.size === 0) full.add(request.targets)
        continue
      }
      this.#waiting.remove(request)
      request.admit(target)
    }
    for (const deploymentId of shared) this.#admitByTurns(deploymentId)
  }

  /** Admits requests that wait for a shared deployment while it has room. */
  #admitByTurns(deploymentId: string): void {
    for (;;) {
      const first = this.#findFirst(deploymentId)
      if (first.size === 0) break
      const reserved = this.#reserved.get(deploymentId)
      const isReserved = reserved !== undefined && first.has(reserved)
      const userId = isReserved ? reserved : this.#turnsOf(deploymentId).next(first.keys())
      const { request, target } = first.get(userId)!
      if (!this.#fits(request, target)) {
        this.#reserved.set(deploymentId, userId)
        break
      }
      this.#reserved.delete(deploymentId)
      this.#waiting.remove(request)
      this.#enter(request, target)
      request.admit(target)
    }
    const turns = this.#turns.get(deploymentId)
    if (turns === undefined) return
    if (!this.#waiting.isAwaited(deploymentId)) turns.rest()
    if (!turns.isIdle) return
    this.#turns.delete(deploymentId)
    this.#reserved.delete(deploymentId)
  }

  /** The first waiting request of each user with room at a shared deployment. */
  #findFirst(deploymentId: string) {
    const first = new Map<number, { request: AdmissionRequest; target: EngineTarget }>()
    if (!this.#waiting.hasShared) return first
    for (const { request, targets } of this.#waiting.firstOfEach(deploymentId)) {
      const target = this.#mayStart(request.userId) ? this.#pickAmong(request, targets) : null
      if (target !== null) first.set(request.userId, { request, target })
    }
    return first
  }
}

/** An instance's most requests in flight: with its engine's queue, or only those in process. */
function findPlaces(
  { parallelSequences }: EngineTarget,
  { perInstance }: AdmissionLimits,
  usesEngineQueue: boolean,
): number {
  const perSequence = usesEngineQueue ? requestsPerSequence : 1
  return Math.min(perInstance, (parallelSequences ?? Infinity) * perSequence)
}

function tooManyRequests({ queueMilliseconds }: AdmissionLimits): RateLimitedError {
  return new RateLimitedError(
    queueMilliseconds / 1000,
    'Too many of your requests are in flight. Retry in a few seconds.',
  )
}
