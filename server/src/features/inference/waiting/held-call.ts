import type { Services } from '../../../services.ts'
import type { ServingDeployment } from '../../deployments/serving/serving-deployments.ts'
import type { Caller } from '../arrival/caller.ts'
import { AsleepError } from '../targets/find-targets.ts'
import type { EngineTarget } from '../targets/targets.ts'
import type { HeldRequest, Waking } from './waking.ts'

type Deps = Pick<Services, 'config'> & { inference: { waking: Waking } }

/** The longest that a caller may ask a request to wait, in seconds */
const longestPatience = 86_400

/** What a request wants, and what to do when its deployment is awake. */
interface Wish {
  /** The path of its route */
  readonly route: string
  findTargets(): readonly EngineTarget[] | Promise<readonly EngineTarget[]>
  start(targets: readonly EngineTarget[]): void | Promise<void>
  fail(error: unknown): void
}

/**
 * A request that waits until its deployment is awake. A class, because thousands may wait, and instances
 * share their methods.
 */
export class HeldCall implements HeldRequest {
  readonly deps: Deps
  readonly caller: Caller
  readonly wish: Wish
  readonly until: number
  deploymentId = ''

  constructor(deps: Deps, caller: Caller, wish: Wish) {
    this.deps = deps
    this.caller = caller
    this.wish = wish
    const patience = readPatience(caller.request.headers['x-scale-up-timeout'])
    this.until = performance.now() + (patience ?? deps.config.inference.wakeMilliseconds)
    caller.reply.raw.once('close', () => this.deps.inference.waking.remove(this.deploymentId, this))
  }

  get userId(): number {
    return this.caller.request.viewer.userId
  }

  get sessionId(): number {
    return this.caller.request.viewer.session.id
  }

  get route(): string {
    return this.wish.route
  }

  /** Waits for this deployment. Throws the error for the caller if too many wait. */
  waitFor(deployment: ServingDeployment): void {
    this.deploymentId = deployment.deploymentId
    // The caller may have left before.
    if (!this.caller.reply.raw.destroyed) this.deps.inference.waking.hold(deployment, this)
  }

  proceed(): void {
    this.start().catch((error: unknown) => this.fail(error))
  }

  fail(error: unknown): void {
    this.wish.fail(error)
  }

  async start(): Promise<void> {
    const { wish } = this
    try {
      await wish.start(await wish.findTargets())
    } catch (error) {
      // The deployment may have fallen asleep again, or lost its instance.
      if (!(error instanceof AsleepError)) throw error
      this.waitFor(error.deployment)
    }
  }
}

/** Hugging Face's endpoints take this header in seconds. In milliseconds; null if it is no number. */
function readPatience(header: string | string[] | undefined): number | null {
  const seconds = typeof header === 'string' && header.trim() !== '' ? Number(header) : NaN
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, longestPatience) * 1000 : null
}
