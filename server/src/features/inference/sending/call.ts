import { requireBudget } from '../../deployments/serving/require-budget.ts'
import { requireCallable } from '../../deployments/serving/serving-deployments.ts'
import type { Asker } from '../../deployments/serving/asker.ts'
import { personsOf } from '../../deployments/serving/asker.ts'
import type { Caller } from '../arrival/caller.ts'
import { chooseWay, findHonoring, refuseFields, requireModelType } from '../arrival/choose-way.ts'
import type { ServedRoute } from '../arrival/choose-way.ts'
import { findAsker } from '../arrival/find-asker.ts'
import type { AskerDeps } from '../arrival/find-asker.ts'
import { fitRequest } from '../arrival/request-body.ts'
import type { InferenceRequest } from '../arrival/request-body.ts'
import { describeRefused } from '../counting/log-request.ts'
import { modelNotFound } from '../targets/find-targets.ts'
import { loadTargets, recallTargets } from '../targets/targets.ts'
import type { EngineTarget, TargetDeps } from '../targets/targets.ts'
import { HeldCall } from '../waiting/held-call.ts'
import type { HeldCallDeps, HeldCallSteps } from '../waiting/held-call.ts'
import { Exchange } from './exchange.ts'
import type { ExchangeDeps } from './exchange.ts'
import type { Inference } from './inference.ts'

export interface CallDeps extends AskerDeps, ExchangeDeps, TargetDeps, HeldCallDeps {
  inference: Inference
}

/**
 * Reads a call's body and starts the exchange, which sends the response. Stays synchronous unless it must
 * wait: short bodies are read at once, and targets are cached. The caller's reply gets later errors.
 */
export function startCall(
  deps: CallDeps,
  route: ServedRoute,
  arrived: Omit<Caller, 'asker'>,
  body: Buffer,
): void {
  const receivedAt = performance.now()
  const { reply } = arrived
  const { bodyHold, viewer, headers } = arrived.request
  if (bodyHold) reply.raw.once('close', () => bodyHold.release())
  const asker = findAsker(deps, viewer, headers)
  const read = route.read(body, deps.inference.slices)
  const start = (found: Asker, request: InferenceRequest) =>
    new Call(deps, route, { request, caller: { ...arrived, asker: found }, receivedAt }).begin()
  if (asker instanceof Promise || read instanceof Promise) {
    Promise.all([asker, read])
      .then((both) => start(...both))
      .catch((error: unknown) => reply.send(error))
  } else start(asker, read)
}

/** The status of a request whose caller left before a response */
const callerLeft = 499

/** A call whose body was read, until its exchange starts. */
class Call implements HeldCallSteps {
  readonly #deps: CallDeps
  readonly #route: ServedRoute
  readonly #request: InferenceRequest
  readonly #receivedAt: number
  #caller: Caller
  /** The exchange logs the request, or a refusal was logged. */
  #isLogged = false

  constructor(
    deps: CallDeps,
    route: ServedRoute,
    { request, caller, receivedAt }: { request: InferenceRequest; caller: Caller; receivedAt: number },
  ) {
    this.#deps = deps
    this.#route = route
    this.#request = request
    this.#caller = caller
    this.#receivedAt = receivedAt
  }

  begin(): void {
    const cached = this.#recallTargets()
    if (cached !== undefined) return this.#startCached(cached)
    const { protocol } = this.#route
    this.#caller.reply.raw.once('close', () => this.#logRefused(callerLeft))
    new HeldCall(this.#deps, this.#caller, { protocol, request: this.#request }, this).proceed()
  }

  #startCached(targets: readonly EngineTarget[]): void {
    try {
      this.start(targets)
    } catch (error) {
      this.#logRefused(this.#deps.toPublicError(error).status)
      throw error
    }
  }

  #recallTargets(): readonly EngineTarget[] | undefined {
    return recallTargets(this.#deps.inference.targets, this.#caller.asker, this.#request.model)
  }

  findTargets(): readonly EngineTarget[] | Promise<readonly EngineTarget[]> {
    return this.#recallTargets() ?? loadTargets(this.#deps, this.#caller.asker, this.#request.model)
  }

  hold(caller: Caller): void {
    this.#caller = caller
  }

  /** Throws the error for the caller if none of these targets may serve the request. */
  start(found: readonly EngineTarget[]): void {
    const request = this.#request
    const caller = this.#caller
    const persons = personsOf(caller.asker)
    const allowed = requireCallable(persons, found, () => modelNotFound(request.model))
    const callable = requireBudget(caller.asker, allowed, this.#deps.clock())
    caller.request.bodyHold?.reachedModel()
    requireModelType(callable[0]!, this.#route.protocol)
    refuseFields(request, callable)
    const { way, targets } = chooseWay(this.#route, request, findHonoring(request, callable))
    const sent = way.translate === null ? { request, answers: null } : way.translate(request, targets[0]!)
    fitRequest(sent.request, targets)
    // The caller may have left meanwhile, or have an error.
    if (caller.reply.raw.destroyed || caller.reply.raw.writableEnded) return
    const { protocol } = way
    const exchange = new Exchange(this.#deps, {
      ...sent,
      protocol,
      caller,
      targets,
      receivedAt: this.#receivedAt,
    })
    this.#isLogged = true
    exchange.start()
    closeWithResponse(exchange, caller)
  }

  fail(error: unknown): void {
    this.#logRefused(this.#deps.toPublicError(error).status)
    void this.#caller.reply.send(error)
  }

  /** Logs once that the request reached no deployment. */
  #logRefused(status: number): void {
    if (this.#isLogged || !this.#deps.logsRequests) return
    this.#isLogged = true
    const { path: route } = this.#route.protocol
    const { model } = this.#request
    const receivedAt = this.#receivedAt
    this.#deps.tokens.log(describeRefused(this.#caller, { model, route, status, receivedAt }))
  }
}

/** Outside of `Call`, because a function in a method keeps its variables in memory while a stream is open. */
function closeWithResponse(exchange: Exchange, { reply }: Caller): void {
  reply.raw.on('close', () => exchange.close())
}
