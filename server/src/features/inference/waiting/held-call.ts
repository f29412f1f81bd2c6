import { ApplicationError } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'
import { userIdOf } from '../../deployments/serving/asker.ts'
import type { Asker } from '../../deployments/serving/asker.ts'
import type { ServingDeployment } from '../../deployments/serving/serving-deployments.ts'
import type { Caller, CallerReply } from '../arrival/caller.ts'
import { requireModelType } from '../arrival/choose-way.ts'
import type { InferenceRequest } from '../arrival/request-body.ts'
import type { ErrorFacts, Protocol } from '../protocols/protocol.ts'
import { writeData, writeErrorEvent, writeEvent } from '../protocols/sse-events.ts'
import { AsleepError, UnavailableError } from '../targets/find-targets.ts'
import type { EngineTarget } from '../targets/targets.ts'
import { requireUse } from './require-use.ts'
import type { HeldRequest, Waking } from './waking.ts'

export interface HeldCallDeps extends Pick<Services, 'config'> {
  inference: { waking: Waking }
  /** The caller's text for an error */
  toPublicError(error: unknown): ErrorFacts
}

/** The longest that a caller may ask a request to wait, in seconds */
const longestPatience = 86_400

/** What a call that may have to wait asks for, and what becomes of it. */
export interface HeldCallSteps {
  findTargets(): readonly EngineTarget[] | Promise<readonly EngineTarget[]>
  /** Replaces the caller by one whose connection stays open during the wait. */
  hold(caller: Caller): void
  start(targets: readonly EngineTarget[]): void
  /** `deployment` could not serve the request; null for an error that concerns no single one. */
  fail(error: unknown, deployment: ServingDeployment | null): void
}

/** A call that waits for its sleeping deployment's targets. A class: thousands may wait and share methods. */
export class HeldCall implements HeldRequest {
  readonly #deps: HeldCallDeps
  readonly #protocol: Protocol
  readonly #request: Pick<InferenceRequest, 'model' | 'streams' | 'body'>
  readonly #steps: HeldCallSteps
  #caller: Caller
  /** The last one that it waited for */
  #deployment: ServingDeployment | null = null
  readonly until: number

  constructor(
    deps: HeldCallDeps,
    caller: Caller,
    {
      protocol,
      request,
    }: { protocol: Protocol; request: Pick<InferenceRequest, 'model' | 'streams' | 'body'> },
    steps: HeldCallSteps,
  ) {
    this.#deps = deps
    this.#caller = caller
    this.#protocol = protocol
    this.#request = request
    this.#steps = steps
    const patience = readPatience(caller.request.headers['x-scale-up-timeout'])
    this.until = performance.now() + (patience ?? deps.config.inference.wakeMilliseconds)
    caller.reply.raw.once('close', () => {
      if (this.#deployment !== null) deps.inference.waking.remove(this.#deployment.deploymentId, this)
    })
  }

  get userId(): number {
    return userIdOf(this.#caller.asker)
  }

  get asker(): Asker {
    return this.#caller.asker
  }

  get route(): string {
    return this.#protocol.path
  }

  /** Finds the targets and starts the call there, now or when the deployment is awake. */
  proceed(): void {
    this.#start().catch((error: unknown) => this.#steps.fail(error, null))
  }

  /** Proceeds at other deployments, with the remaining patience. */
  proceedAs(caller: Caller): void {
    this.#caller = caller
    this.proceed()
  }

  fail(error: unknown): void {
    this.#steps.fail(error, this.#deployment)
  }

  async #start(): Promise<void> {
    try {
      this.#steps.start(await this.#steps.findTargets())
    } catch (error) {
      if (error instanceof UnavailableError) return this.#steps.fail(error.reason, error.deployment)
      // The deployment may have fallen asleep again, or lost its instance.
      if (!(error instanceof AsleepError)) throw error
      const { deployment } = error
      try {
        this.#waitFor(deployment)
      } catch (reason) {
        this.#steps.fail(reason, deployment)
      }
    }
  }

  /** Waits for this deployment. Throws the error for the caller if too many wait. */
  #waitFor(deployment: ServingDeployment): void {
    requireModelType(deployment, this.#protocol)
    requireUse(this.#request, this.#protocol, deployment.modelName)
    const last = this.#deployment
    this.#deployment = deployment
    if (last !== null && last.deploymentId !== deployment.deploymentId && performance.now() >= this.until) {
      throw notWoken(deployment)
    }
    // The caller may have left before.
    if (this.#caller.reply.raw.destroyed) return
    const { model, streams } = this.#request
    if (streams) {
      this.#caller = this.#holdStream(this.#caller, model)
      this.#steps.hold(this.#caller)
    }
    this.#deps.inference.waking.hold(deployment, this)
  }

  /** A waiting stream's caller. Comments or events keep it open every ten seconds; then errors are events. */
  #holdStream(caller: Caller, model: string): Caller {
    if (caller.isHeld) return caller
    const { request, reply } = caller
    const { raw } = reply
    const protocol = this.#protocol
    const deps = this.#deps
    let seconds = 0
    const timer = setInterval(() => {
      if (!raw.headersSent) begin(reply)
      seconds += updateSeconds
      raw.write(composeProgress(request, protocol, { model, seconds }))
    }, updateSeconds * 1000)
    const end = () => clearInterval(timer)
    raw.once('close', end)
    const held: CallerReply = {
      raw,
      getHeaders: () => reply.getHeaders(),
      header: (name, value) => reply.header(name, value),
      hijack() {
        end()
        return reply.hijack()
      },
      send(error) {
        end()
        if (!raw.headersSent) return reply.send(error)
        raw.end(
          writeErrorEvent(
            protocol.errors,
            protocol.errors.compose(deps.toPublicError(error), request.id).body,
          ),
        )
        return undefined
      },
    }
    return { ...caller, reply: held, isHeld: true }
  }
}

/** A request that has no time left wakes only the first deployment of its alias. */
function notWoken({ modelName }: ServingDeployment): ApplicationError {
  const message = `${modelName} sleeps, and was not woken because the request had waited as long as it may.`
  return new ApplicationError('deployment_waking', message, 1)
}

/** Hugging Face's endpoints take this header in seconds. In milliseconds; null if it is no number. */
function readPatience(header: string | string[] | undefined): number | null {
  const seconds = typeof header === 'string' && header.trim() !== '' ? Number(header) : NaN
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, longestPatience) * 1000 : null
}

const updateSeconds = 10
const comment = ': waiting for the model to wake up\n\n'

/** A comment or event that says nothing, or a thought of the model for callers that ask for thoughts. */
function composeProgress(
  { headers, id }: Caller['request'],
  { composeThought, keepAlive }: Protocol,
  { model, seconds }: { model: string; seconds: number },
): string {
  if (headers['x-berth-progress'] !== 'reasoning' || composeThought === undefined) {
    return keepAlive === undefined ? comment : writeEvent(keepAlive)
  }
  return writeData(composeThought(`${model} is waking up: ${seconds} seconds so far.\n`, { id, model }))
}

function begin(reply: CallerReply): void {
  const own = Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  reply.raw.writeHead(200, {
    ...Object.fromEntries(own),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  })
  reply.hijack()
}
