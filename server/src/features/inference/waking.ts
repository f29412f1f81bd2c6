import { setImmediate as nextTurn } from 'node:timers/promises'
import { ApplicationError, RateLimitedError } from '../../base/errors.ts'
import type { Services } from '../../services.ts'
import { findLostAccess } from '../deployments/lost-access.ts'
import type { ServingDeployment } from '../deployments/serving-deployments.ts'
import { wakeForRequest } from '../deployments/wake.ts'
import { readStartSeconds, readWakeStates } from '../deployments/wake-state.ts'
import type { WakeState } from '../deployments/wake-state.ts'

/** The instance may be ready before a notification arrives, or the notification may be lost. */
const pollMilliseconds = 500
/** The start of a deployment that has never started */
const usualStartSeconds = 60
/** So many requests go on in one turn of the event loop, so that the first ones are sent before the last ones go on. */
const batch = 64

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'notifications' | 'prices'>

/** A request that waits for a sleeping deployment. */
export interface HeldRequest {
  readonly userId: number
  readonly sessionId: number
  /** The path of its route */
  readonly route: string
  /** How long it waits, in milliseconds */
  readonly patience: number
  /** Aborts when the caller leaves */
  readonly signal: AbortSignal
}

interface Waiter extends HeldRequest {
  readonly since: number
  resolve(): void
  reject(error: unknown): void
}

/** The requests that wait for one deployment, in the order of their arrival. */
class Line {
  readonly deployment: ServingDeployment
  readonly #waiters = new Set<Waiter>()
  readonly #counts = new Map<number, number>()

  constructor(deployment: ServingDeployment) {
    this.deployment = deployment
  }

  get size(): number {
    return this.#waiters.size
  }

  get waiters(): readonly Waiter[] {
    return [...this.#waiters]
  }

  countOf(userId: number): number {
    return this.#counts.get(userId) ?? 0
  }

  add(waiter: Waiter): void {
    this.#waiters.add(waiter)
    this.#counts.set(waiter.userId, this.countOf(waiter.userId) + 1)
  }

  /** Returns false if the request doesn't wait anymore. */
  remove(waiter: Waiter): boolean {
    if (!this.#waiters.delete(waiter)) return false
    const count = this.countOf(waiter.userId) - 1
    if (count > 0) this.#counts.set(waiter.userId, count)
    else this.#counts.delete(waiter.userId)
    return true
  }
}

/** The deployments that requests of this process wait for. Whoever waits first wakes the deployment; the database lets one process do so. */
export class Waking {
  readonly #deps: Deps
  readonly #limit: number
  readonly #waiting = new Map<string, Line>()
  /** Deployments that were waited for since `takeHeld` */
  #awaited = new Set<string>()
  readonly #stops: readonly (() => void)[]
  #timer: NodeJS.Timeout | undefined
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

  /** Wakes the deployment, and resolves when it may serve the request. Rejects with the error for the caller. */
  wait(deployment: ServingDeployment, request: HeldRequest): Promise<void> {
    const { deploymentId: id } = deployment
    const known = this.#waiting.get(id)
    const line = known ?? new Line(deployment)
    if (line.countOf(request.userId) >= this.#limit) {
      throw new RateLimitedError(5, `Too many of your requests wait for ${deployment.modelName}.`)
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = { ...request, since: performance.now(), resolve, reject }
    line.add(waiter)
    request.signal.addEventListener('abort', () => this.#settle(id, waiter, resolve))
    if (known === undefined) {
      this.#waiting.set(id, line)
      this.#awaited.add(id)
      void this.#wake(deployment, request.route)
    }
    return promise
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#stops.forEach((stop) => stop())
    for (const id of this.#waiting.keys()) {
      this.#rejectAll(id, new ApplicationError('draining', 'The server is shutting down. Retry.', 1))
    }
  }

  async #wake({ deploymentId: id }: ServingDeployment, route: string): Promise<void> {
    try {
      await wakeForRequest(this.#deps, id, route)
      this.#check()
    } catch (error) {
      this.#rejectAll(id, toWakeError(error))
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
      const states = await readWakeStates(this.#deps.db, [...this.#waiting.keys()])
      for (const [id, { deployment }] of this.#waiting) await this.#apply(id, deployment, states.get(id))
    }
  }

  async #apply(id: string, deployment: ServingDeployment, state: WakeState | undefined): Promise<void> {
    if (state?.isReady) return this.#admitAll(id)
    const error = await this.#findError(id, deployment, state)
    if (error !== null) return this.#rejectAll(id, error)
    const now = performance.now()
    const late = this.#waiting.get(id)!.waiters.filter(({ since, patience }) => now - since >= patience)
    if (late.length === 0) return
    const waking = await this.#explainWait(id, deployment)
    for (const waiter of late) this.#settle(id, waiter, () => waiter.reject(waking))
  }

  /** Lets the requests go on in the order of their arrival, except those whose caller has lost access meanwhile. */
  async #admitAll(id: string): Promise<void> {
    const { waiters } = this.#waiting.get(id)!
    const accesses = waiters.map((waiter) => ({ ...pickCaller(waiter), deploymentIds: [id], waiter }))
    for (const { access, error } of await findLostAccess(this.#deps.db, accesses)) {
      this.#settle(id, access.waiter, () => access.waiter.reject(error))
    }
    for (const [index, waiter] of waiters.entries()) {
      if (index % batch === batch - 1) await nextTurn()
      this.#settle(id, waiter, () => waiter.resolve())
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
    if (state.wanted === 'awake' || state.refusal === null) return null
    const [, code, sentence] = /^(\w+): (.*)$/s.exec(state.refusal)!
    if (code === 'budget_exhausted') return new ApplicationError('insufficient_quota', sentence!)
    const message = `${modelName} sleeps, and there is no hardware to wake it on. ${sentence}`
    return new ApplicationError('no_capacity', message, await this.#retryAfter(id))
  }

  async #explainWait(id: string, { modelName }: ServingDeployment): Promise<ApplicationError> {
    const message = `${modelName} slept and is not awake yet. Retry, or wait longer with X-Scale-Up-Timeout.`
    return new ApplicationError('deployment_waking', message, await this.#retryAfter(id))
  }

  async #retryAfter(id: string): Promise<number> {
    return (await readStartSeconds(this.#deps.db, id)) ?? usualStartSeconds
  }

  #rejectAll(id: string, error: unknown): void {
    for (const waiter of this.#waiting.get(id)?.waiters ?? []) {
      this.#settle(id, waiter, () => waiter.reject(error))
    }
  }

  #settle(id: string, waiter: Waiter, settle: () => void): void {
    const line = this.#waiting.get(id)
    if (!line?.remove(waiter)) return
    if (line.size === 0) this.#waiting.delete(id)
    settle()
  }
}

const pickCaller = ({ userId, sessionId }: HeldRequest) => ({ userId, sessionId })

/** Budgets say so as OpenAI does. */
function toWakeError(error: unknown): unknown {
  return error instanceof ApplicationError && error.code === 'budget_exhausted'
    ? new ApplicationError('insufficient_quota', error.message)
    : error
}
