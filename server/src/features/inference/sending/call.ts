import { requireBudget } from '../../deployments/serving/require-budget.ts'
import { requireCallable } from '../../deployments/serving/serving-deployments.ts'
import type { Asker } from '../../deployments/serving/asker.ts'
import { personsOf } from '../../deployments/serving/asker.ts'
import { findLostAccess } from '../../deployments/serving/lost-access.ts'
import type { Arrival, Caller, Fallback } from '../arrival/caller.ts'
import { chooseWay, findHonoring, refuseFields, requireModelType } from '../arrival/choose-way.ts'
import type { ServedRoute } from '../arrival/choose-way.ts'
import { findAsker } from '../arrival/find-asker.ts'
import type { AskerDeps } from '../arrival/find-asker.ts'
import { fitRequest } from '../arrival/request-body.ts'
import type { InferenceRequest } from '../arrival/request-body.ts'
import { describeRefused } from '../counting/log-request.ts'
import { modelNotFound } from '../targets/find-targets.ts'
import { toGatewayError } from '../targets/gateway-errors.ts'
import { loadTargets, recallTargets } from '../targets/targets.ts'
import type { EngineTarget, TargetDeps } from '../targets/targets.ts'
import { HeldCall } from '../waiting/held-call.ts'
import type { HeldCallDeps, HeldCallSteps } from '../waiting/held-call.ts'
import { Exchange } from './exchange.ts'
import type { ExchangeDeps } from './exchange.ts'
import { allowsFallback, composeRefusal, mayGoOn } from './fallback.ts'
import type { Attempt, TriedDeployment } from './fallback.ts'
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
  if (bodyHold) {
    reply.raw.once('close', () => bodyHold.release())
    // The caller may have left while the body was unpacked.
    if (reply.raw.destroyed) bodyHold.release()
  }
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

/** A call whose body was read, until its exchange starts, or until no other deployment may take it over. */
class Call implements HeldCallSteps, Fallback {
  readonly #deps: CallDeps
  readonly #route: ServedRoute
  readonly #request: InferenceRequest
  readonly #receivedAt: number
  #caller: Caller
  /** The exchange logs the request, or a refusal was logged. */
  #isLogged = false
  /** null until the call waited or went on to other deployments */
  #held: HeldCall | null = null
  /** Only of a call that may fall back; null until it starts */
  #exchange: Exchange | null = null
  /** The deployments of the alias that could not serve the request, in their order */
  #attempts: readonly Attempt[] = noAttempts

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
    this.#hold().proceed()
  }

  #startCached(targets: readonly EngineTarget[]): void {
    try {
      this.start(targets)
    } catch (error) {
      this.#logRefused(this.#deps.toPublicError(error).status)
      throw error
    }
  }

  /** The call from now on, which may wait. */
  #hold(): HeldCall {
    if (this.#held !== null) return this.#held
    this.#caller.reply.raw.once('close', () => this.#logRefused(callerLeft))
    const { protocol } = this.#route
    this.#held = new HeldCall(this.#deps, this.#caller, { protocol, request: this.#request }, this)
    return this.#held
  }

  #recallTargets(): readonly EngineTarget[] | undefined {
    const { targets } = this.#deps.inference
    return recallTargets(targets, this.#caller.asker, this.#request.model, this.#afterOrder)
  }

  /** The order of the last deployment that could not serve the request; 0 for none */
  get #afterOrder(): number {
    return this.#attempts.at(-1)?.deployment.aliasOrder ?? 0
  }

  get hasFallenBack(): boolean {
    return this.#attempts.length > 0
  }

  async findTargets(): Promise<readonly EngineTarget[]> {
    const found =
      this.#recallTargets() ??
      (await loadTargets(this.#deps, this.#caller.asker, this.#request.model, this.#afterOrder))
    if (this.hasFallenBack) await this.#requireAccess(found)
    return found
  }

  /** Throws if the asker lost access while the request waited for an earlier deployment. */
  async #requireAccess(found: readonly EngineTarget[]): Promise<void> {
    const { asker, arrivedAt } = this.#caller
    if (found.length === 0 || performance.now() - arrivedAt < freshMilliseconds) return
    const deploymentIds = [...new Set(found.map(({ deploymentId }) => deploymentId))]
    const [lost] = await findLostAccess(this.#deps.db, [{ asker, deploymentIds }])
    if (lost !== undefined) throw lost.error
  }

  hold(caller: Caller): void {
    this.#caller = caller
    this.#exchange?.hold(caller)
  }

  /** Throws the error for the caller if none of these targets may serve the request. */
  start(found: readonly EngineTarget[]): void {
    const [first] = found
    if (first === undefined) return this.#refuse(composeRefusal(this.#attempts))
    if (first.aliasOrder === null) return this.#send(this.#prepare(found, this.#request))
    try {
      // An engine of another deployment may need other changes of the body.
      this.#send(this.#prepare(found, { ...this.#request }))
    } catch (error) {
      if (!this.hasFallenBack || !this.goOn(this.#caller, error, first)) throw error
    }
  }

  /** The request for these targets; null if the caller has left. Throws the error for the caller. */
  #prepare(found: readonly EngineTarget[], request: InferenceRequest): Arrival | null {
    const caller = this.#caller
    const persons = personsOf(caller.asker)
    const allowed = requireCallable(persons, found, () => modelNotFound(request.model))
    const callable = requireBudget(caller.asker, allowed, this.#deps.clock)
    caller.request.bodyHold?.reachedModel()
    requireModelType(callable[0]!, this.#route.protocol)
    refuseFields(request, callable)
    const { way, targets } = chooseWay(this.#route, request, findHonoring(request, callable))
    const sent = way.translate === null ? { request, answers: null } : way.translate(request, targets[0]!)
    fitRequest(sent.request, targets)
    // The caller may have left meanwhile, or have an error.
    if (caller.reply.raw.destroyed || caller.reply.raw.writableEnded) return null
    return {
      ...sent,
      protocol: way.protocol,
      caller,
      targets,
      fallback: found[0]!.aliasOrder !== null && allowsFallback(caller.request.headers) ? this : null,
      afterOrder: this.#afterOrder,
      receivedAt: this.#receivedAt,
    }
  }

  #send(arrival: Arrival | null): void {
    if (arrival === null) return
    const { caller, fallback, targets } = arrival
    if (fallback !== null && targets[0]!.fallsBack && this.#isAway(targets)) {
      fallback.goOn(caller, toGatewayError(null), targets[0]!)
      return
    }
    if (this.#exchange !== null) return this.#exchange.moveTo(arrival)
    const exchange = new Exchange(this.#deps, arrival)
    if (fallback !== null) this.#exchange = exchange
    this.#isLogged = true
    exchange.start()
    closeWithResponse(exchange, caller)
  }

  /** The last requests to all of these failed. Now and then, a request is sent to see if they are back. */
  #isAway(targets: readonly EngineTarget[]): boolean {
    return targets.every(({ instanceId }) => this.#deps.inference.breakers.isOpen(instanceId))
  }

  goOn(caller: Caller, error: unknown, deployment: TriedDeployment): boolean {
    const isOrdered = deployment.aliasOrder !== null && allowsFallback(caller.request.headers)
    if (!isOrdered || !mayGoOn(error, !this.hasFallenBack)) return false
    this.#attempts = [...this.#attempts, { deployment, error }]
    this.#caller = caller
    this.#hold().proceedAs(caller)
    return true
  }

  fail(error: unknown, deployment: TriedDeployment | null): void {
    if (deployment !== null && this.goOn(this.#caller, error, deployment)) return
    this.#refuse(error)
  }

  #refuse(error: unknown): void {
    if (this.#exchange !== null) return this.#exchange.fail(error, null)
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

const noAttempts: readonly Attempt[] = []

/** What is known of the asker is as new as this, in milliseconds. Access must end within a second. */
const freshMilliseconds = 500

/** Outside of `Call`, because a function in a method keeps its variables in memory while a stream is open. */
function closeWithResponse(exchange: Exchange, { reply }: Caller): void {
  reply.raw.on('close', () => exchange.close())
}
