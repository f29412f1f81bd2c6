import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { ApplicationError, RateLimitedError, serverStopping } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'
import type { Asker } from '../../deployments/serving/asker.ts'
import { findLostAccess } from '../../deployments/serving/lost-access.ts'
import type { ServingDeployment } from '../../deployments/serving/serving-deployments.ts'
import { findRecoveryError } from '../../deployments/serving/recovering.ts'
import { wakeForRequest } from '../../deployments/serving/wake.ts'
import { readStartSeconds, readWakeStates } from '../../deployments/serving/wake-state.ts'
import type { WakeState } from '../../deployments/serving/wake-state.ts'

/** The instance may be ready before a notification arrives, or the notification may be lost. */
const pollMilliseconds = 500
/** The start of a deployment that has never started */
const usualStartSeconds = 60
/** So many requests go on in one turn of the event loop, so that others proceed meanwhile. */
const batch = 64
/** An engine's first requests are slow. A few get a head start: it answers them before it reads the rest. */
const headStart = { requests: 2, milliseconds: 50 }

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'notifications' | 'prices'>

/** A request that waits for a sleeping deployment. */
export interface HeldRequest {
  readonly userId: number
  readonly asker: Asker
  /** The path of its route */
  readonly route: string
  /** How long it waits, on the clock of `performance.now()` */
  readonly until: number
  /** Called once, when the deployment may serve the request. */
  proceed(): void
  /** Called instead of `proceed`, with the error for the caller. */
  fail(error: unknown): void
}

/** The requests that wait for one deployment, in the order of their arrival. */
class Line {
  readonly deployment: ServingDeployment
  /** The wake is in the database. States that were read before it don't concern these requests. */
  isWoken = false
  readonly #requests = new Set<HeldRequest>()
  readonly #counts = new Map<number, number>()

  constructor(deployment: ServingDeployment) {
    this.deployment = deployment
  }

  get size(): number {
    return this.#requests.size
  }

  get requests(): readonly HeldRequest[] {
    return [...this.#requests]
  }

  countOf(userId: number): number {
    return this.#counts.get(userId) ?? 0
  }

  add(request: HeldRequest): void {
    this.#requests.add(request)
    this.#counts.set(request.userId, this.countOf(request.userId) + 1)
  }

  /** Returns false if the request doesn't wait anymore. */
  remove(request: HeldRequest): boolean {
    if (!this.#requests.delete(request)) return false
    const count = this.countOf(request.userId) - 1
    if (count > 0) this.#counts.set(request.userId, count)
    else this.#counts.delete(request.userId)
    return true
  }
}

/** The deployments that this process's requests wait for. The first request of all processes wakes one. */
export class Waking {
  readonly #deps: Deps
  readonly #limit: number
  readonly #waiting = new Map<string, Line>()
  /** Deployments that were waited for since `takeHeld` */
  #awaited = new Set<string>()
  readonly #stops: readonly (() => void)[]
  #timer: NodeJS.Timeout | undefined
  #isStopping = false
  #isChecking = false
  #isDue = false

  /** `limit` is the most requests of a user that wait for one deployment. */
  constructor(deps: Deps, limit: number) {
    this.#deps = deps
    this.#limit = limit
    const check = () => this.#check()
    this.#stops = [
      deps.notifications.subscribe('deployment_changed', check),
      deps.notifications.onReconnected(check),
    ]
  }

  /** Requests that wait */
  get held(): number {
    return this.#waiting.values().reduce((sum, { size }) => sum + size, 0)
  }

  /** The deployments that requests wait for or waited for since the last call, with how many wait. */
  takeHeld(): Map<string, number> {
    const held = new Map([...this.#awaited].map((id) => [id, this.#waiting.get(id)?.size ?? 0]))
    this.#awaited = new Set(this.#waiting.keys())
    return held
  }

  /** Requests that wait for each deployment */
  countHeld(): Map<string, number> {
    return new Map([...this.#waiting].map(([id, { size }]) => [id, size]))
  }

  /** Wakes the deployment, and holds the request until it may go on. Throws if too many of its user wait. */
  hold(deployment: ServingDeployment, request: HeldRequest): void {
    if (this.#isStopping) throw serverStopping()
    const { deploymentId: id } = deployment
    const known = this.#waiting.get(id)
    const line = known ?? new Line(deployment)
    if (line.countOf(request.userId) >= this.#limit) {
      throw new RateLimitedError(5, `Too many of your requests wait for ${deployment.modelName}.`)
    }
    line.add(request)
    if (known !== undefined) return
    this.#waiting.set(id, line)
    this.#awaited.add(id)
    void this.#wake(line, request.route)
  }

  /** Removes a request whose caller has left. Returns false if the request doesn't wait anymore. */
  remove(id: string, request: HeldRequest): boolean {
    const line = this.#waiting.get(id)
    if (!line?.remove(request)) return false
    if (line.size === 0) this.#waiting.delete(id)
    return true
  }

  /** Fails all requests, and those that would wait from now on: a start can take longer than a stop. */
  stop(): void {
    this.#isStopping = true
    for (const id of this.#waiting.keys()) this.#failAll(id, serverStopping())
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#stops.forEach((stop) => stop())
    this.stop()
  }

  async #wake(line: Line, route: string): Promise<void> {
    const { deploymentId: id } = line.deployment
    try {
      await wakeForRequest(this.#deps, id, route)
      line.isWoken = true
      this.#check()
    } catch (error) {
      this.#failAll(id, toWakeError(error))
    }
  }

  #check(): void {
    if (this.#waiting.size === 0) return
    this.#isDue = true
    if (this.#isChecking) return
    clearTimeout(this.#timer)
    this.#isChecking = true
    void this.#checkAll()
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'could not look after waking deployments'),
      )
      .finally(() => {
        this.#isChecking = false
        if (this.#waiting.size > 0) this.#timer = setTimeout(() => this.#check(), pollMilliseconds)
      })
  }

  async #checkAll(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false
      const lines = [...this.#waiting].filter(([, { isWoken }]) => isWoken)
      const states = await readWakeStates(
        this.#deps.db,
        lines.map(([id]) => id),
      )
      for (const [id, line] of lines) {
        if (this.#waiting.get(id) === line) await this.#apply(id, line.deployment, states.get(id))
      }
    }
  }

  async #apply(id: string, deployment: ServingDeployment, state: WakeState | undefined): Promise<void> {
    if (state?.isReady) return this.#admitAll(id)
    const error = await this.#findError(id, deployment, state)
    if (error !== null) return this.#failAll(id, error)
    const now = performance.now()
    const late = this.#waiting.get(id)?.requests.filter(({ until }) => now >= until) ?? []
    if (late.length === 0) return
    const waking = await this.#explainWait(id, deployment)
    for (const request of late) if (this.remove(id, request)) request.fail(waking)
  }

  /** Lets requests go on in the order of their arrival, except those whose caller lost access. */
  async #admitAll(id: string): Promise<void> {
    const requests = this.#waiting.get(id)?.requests ?? []
    const askers = new Map(requests.map(({ asker }) => [toKey(asker), asker]))
    const accesses = [...askers.values()].map((asker) => ({ asker, deploymentIds: [id] }))
    const lost = await findLostAccess(this.#deps.db, accesses)
    const errors = new Map(lost.map(({ access, error }) => [toKey(access.asker), error]))
    for (const [index, request] of requests.entries()) {
      if (index === headStart.requests) await delay(headStart.milliseconds)
      if (index % batch === batch - 1) await nextTurn()
      if (!this.remove(id, request)) continue
      const error = errors.get(toKey(request.asker))
      if (error === undefined) request.proceed()
      else request.fail(error)
    }
  }

  async #findError(
    id: string,
    { modelName }: ServingDeployment,
    state: WakeState | undefined,
  ): Promise<ApplicationError | null> {
    if (state === undefined || state.status === 'terminating' || state.status === 'terminated') {
      return new ApplicationError('model_not_found', `The deployment of ${modelName} was terminated.`)
    }
    if (state.status === 'failed') {
      const message = `The deployment of ${modelName} has failed: ${state.failureReason}`
      return new ApplicationError('deployment_failed', message)
    }
    const recovering = findRecoveryError(modelName, state.recovery, this.#deps.clock())
    if (recovering !== null) return recovering
    if (state.desiredState === 'awake' || state.refusal === null) return null
    const { code, message } = state.refusal
    if (code === 'budget_exhausted') return new ApplicationError('insufficient_quota', message)
    const sentences = `${modelName} sleeps, and there is no hardware to wake it on. ${message}`
    return new ApplicationError('no_capacity', sentences, await this.#retryAfter(id))
  }

  async #explainWait(id: string, { modelName }: ServingDeployment): Promise<ApplicationError> {
    const message = `${modelName} slept and is not awake yet. Retry, or wait longer with X-Scale-Up-Timeout.`
    return new ApplicationError('deployment_waking', message, await this.#retryAfter(id))
  }

  async #retryAfter(id: string): Promise<number> {
    return (await readStartSeconds(this.#deps.db, id)) ?? usualStartSeconds
  }

  #failAll(id: string, error: unknown): void {
    for (const request of this.#waiting.get(id)?.requests ?? []) {
      if (this.remove(id, request)) request.fail(error)
    }
  }
}

/** Those with one key have the same access. */
function toKey({ viewer, member }: Asker): string {
  return `${viewer.session.id} ${member?.userId}`
}

/** Budgets say so as OpenAI does. */
function toWakeError(error: unknown): unknown {
  return error instanceof ApplicationError && error.code === 'budget_exhausted'
    ? new ApplicationError('insufficient_quota', error.message)
    : error
}
