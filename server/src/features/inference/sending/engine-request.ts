import { ApplicationError } from '../../../base/errors.ts'
import { findShortage, overloaded } from '../../../base/local-shortage.ts'
import type { CircuitBreakers } from '../../../gateway/circuit-breakers.ts'
import type { FlowControl } from '../../../gateway/response-stream.ts'
import type {
  ResponseHandler,
  ResponseHead,
  UpstreamCall,
  UpstreamClient,
} from '../../../gateway/upstream-client/upstream.ts'
import { UpstreamError } from '../../../gateway/upstream-client/upstream-error.ts'
import type { Services } from '../../../services.ts'
import { reportEngine } from '../../deployments/serving/report-engine.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { Arrival } from '../arrival/caller.ts'
import { writeEngineBody } from '../arrival/request-body.ts'
import type { BodyMeter } from '../relay/response-relay.ts'
import type { EngineTarget } from '../targets/targets.ts'
import { judgeOutsideHead } from './judge-outside-head.ts'

export interface EngineRequestDeps extends Pick<Services, 'db'> {
  inference: { breakers: CircuitBreakers; client: UpstreamClient; outside: UpstreamClient }
}

/** The exchange that sends a request to an engine. */
export interface EngineRequestOwner {
  readonly arrival: Arrival
  /** null without traces */
  readonly traceparent: string | null
  /** Returns another instance for a request that this one did not accept; null when none is left. */
  pickOther(refusing: EngineTarget): EngineTarget | null
  /** A response has begun, so the request is not repeated. May return a buffer for its body. */
  onResponse(head: ResponseHead): Buffer | null
  onBytes(bytes: Buffer): void
  onComplete(): void
  /** A response of an engine that has no room now is dropped, because other deployments may have some. */
  readonly dropsRefusals: boolean
  /** No response has begun, and no other engine is known. `hasMoved`: the request may have broken one. */
  onUnanswered(error: UpstreamError, hasMoved: boolean): void
  /** The engine takes no request of any kind now; `brokenBy` is null if the engine said so. */
  giveUp(error: unknown, brokenBy: 'engine' | null): void
  /** No engine gave a complete response; `brokenBy` is null if this server is to blame. */
  fail(error: unknown, brokenBy: 'engine' | null): void
}

/**
 * A request at an engine. The engine gets it again after a stale connection or an expired authorization, and
 * another one after a refused connection. After an engine that breaks off or is lost, another instance gets
 * the request only once: the request itself may have broken the engine.
 */
export class EngineRequest implements ResponseHandler {
  readonly #deps: EngineRequestDeps
  readonly #owner: EngineRequestOwner
  #target: EngineTarget
  /** null while no response is awaited */
  #call: UpstreamCall | null = null
  #sentAt = 0
  /** Of the response; 0 until it starts */
  #status = 0
  /** A stale connection was replaced */
  #hasRetried = false
  #hasRenewed = false
  /** An engine was lost before it answered */
  #hasMoved: boolean
  /** The owner hears nothing more. */
  #isLeft = false

  /** `hasMoved` is true if the request came back from an engine that did not start a response. */
  constructor(deps: EngineRequestDeps, owner: EngineRequestOwner, target: EngineTarget, hasMoved: boolean) {
    this.#deps = deps
    this.#owner = owner
    this.#target = target
    this.#hasMoved = hasMoved
    this.#send()
  }

  get target(): EngineTarget {
    return this.#target
  }

  /** On the clock of `performance.now()` */
  get sentAt(): number {
    return this.#sentAt
  }

  /** Of the response; null while none arrives */
  get flow(): FlowControl | null {
    return this.#call
  }

  /** Nothing reads the pieces of the body anymore. */
  get isBodySent(): boolean {
    return this.#call !== null && this.#call.isBodySent
  }

  /** The engine has the request and has neither refused it nor finished. */
  get isProcessing(): boolean {
    return this.#call !== null && (this.#status === 0 || this.#status === 200)
  }

  /** The engine refused the request. */
  get isRefusal(): boolean {
    return this.#status >= 400 && this.#status < 500
  }

  #send(): void {
    const target = this.#target
    const { breakers, client, outside } = this.#deps.inference
    const { arrival, traceparent } = this.#owner
    const { protocol, caller, request } = arrival
    const { enginePath: path } = protocol
    breakers.onSend(target.instanceId)
    this.#status = 0
    this.#sentAt = performance.now()
    this.#call = (target.isOutside ? outside : client).send(
      target.origin,
      {
        path: target.basePath === '' ? path : target.basePath + path,
        streams: request.streams,
        requestId: caller.request.id,
        authorization: target.authorization,
        keyHeader: target.keyHeader,
        traceparent,
        body: writeEngineBody(request, target),
      },
      this,
    )
  }

  /** Leaves the response to `handler`; the owner hears no more. False if that is not possible. */
  leave(handler: ResponseHandler): boolean {
    if (this.#isRejected || this.#call === null || !this.#call.leave(handler)) return false
    this.#isLeft = true
    this.#call = null
    return true
  }

  /** Closes the connection. The owner hears nothing more. */
  abort(): void {
    this.#isLeft = true
    this.#call?.abort()
    this.#call = null
  }

  /** The engine rejected the authorization. The rest of its response is dropped. */
  get #isRejected(): boolean {
    return this.#status === 401
  }

  onHead(head: ResponseHead): Buffer | null {
    const { breakers } = this.#deps.inference
    if (head.status < 500) breakers.onSuccess(this.#target.instanceId)
    else breakers.onFailure(this.#target.instanceId)
    this.#status = head.status
    const unusable = this.#target.isOutside ? judgeOutsideHead(head, this.#target) : null
    if (unusable !== null) {
      this.abort()
      this.#owner.giveUp(unusable, 'engine')
      return null
    }
    if (isRefusal(head.status) && this.#owner.dropsRefusals) {
      this.abort()
      this.#owner.giveUp(toRefusal(head, this.#target), null)
      return null
    }
    return this.#isRejected ? null : this.#owner.onResponse(head)
  }

  onBody(bytes: Buffer): void {
    if (!this.#isRejected) this.#owner.onBytes(bytes)
  }

  onEnd(): void {
    this.#call = null
    if (!this.#isRejected) return this.#owner.onComplete()
    if (!this.#hasRenewed && this.#target.runtime.authorizeEngine !== undefined)
      return void this.#renewAuthorization()
    // The caller can't fix this 401, so it becomes a 502.
    this.#owner.arrival.caller.request.log.error(
      { deployment: this.#target.deploymentId },
      'the engine rejected its key; SECRET_KEY may differ from the one that the engine started with',
    )
    this.#owner.giveUp(new UpstreamError('broken', 'the engine rejected the authorization'), 'engine')
  }

  async #renewAuthorization(): Promise<void> {
    this.#hasRenewed = true
    const target = this.#target
    try {
      const { runtime, engineUrl, authorization } = target
      target.authorization = await runtime.authorizeEngine!(engineUrl, authorization)
    } catch (error) {
      if (!this.#isLeft) this.#owner.giveUp(error, 'engine')
      return
    }
    if (!this.#isLeft) this.#send()
  }

  onError(error: UpstreamError): void {
    this.#call = null
    // The engine closed a keep-alive connection before the request arrived.
    if (error.kind === 'stale' && !this.#hasRetried) {
      this.#hasRetried = true
      return this.#send()
    }
    // Other engines can't be reached either.
    const shortage = findShortage(error)
    if (shortage !== null) return this.#owner.fail(overloaded(shortage), null)
    this.#deps.inference.breakers.onFailure(this.#target.instanceId)
    this.report()
    if (!this.#mayMove(error)) return this.#owner.fail(error, 'engine')
    const other = this.#owner.pickOther(this.#target)
    if (other === null) this.#owner.onUnanswered(error, this.#hasMoved || this.#mayHaveArrived(error))
    else this.#moveTo(other, this.#mayHaveArrived(error))
  }

  /** An engine that only takes long goes on with the request. */
  #mayMove(error: UpstreamError): boolean {
    if (!this.#mayHaveArrived(error)) return true
    return error.kind !== 'timeout' && this.#status === 0 && !this.#hasMoved
  }

  /** After a stale connection, an engine that refuses a new one may have ended because of the request. */
  #mayHaveArrived({ kind }: UpstreamError): boolean {
    return kind !== 'refused' || this.#hasRetried
  }

  /** The instance is lost, so no response may ever come. False without another one: the request waits on. */
  leaveLostEngine(): boolean {
    if (this.#hasMoved || this.#call === null) return true
    const other = this.#owner.pickOther(this.#target)
    if (other === null) return false
    this.#call.abort()
    this.#moveTo(other, true)
    return true
  }

  #moveTo(other: EngineTarget, counts: boolean): void {
    this.#hasMoved ||= counts
    this.#hasRetried = false
    this.#target = other
    this.#send()
  }

  /** Has a worker check the engine. Requests that fail together wake the worker once. */
  report(): void {
    const { instanceId, deploymentId } = this.#target
    reportEngine(this.#deps.db, instanceId, 'unresponsive').catch((error: unknown) =>
      this.#owner.arrival.caller.request.log.warn(
        { err: error, deployment: deploymentId },
        'could not report an unresponsive engine',
      ),
    )
  }
}

/** Statuses of engines, and of proxies in front of them, that have no room or are away */
function isRefusal(status: number): boolean {
  return status === 429 || status === 502 || status === 503 || status === 504
}

function toRefusal({ status, headers }: ResponseHead, { modelName }: EngineTarget): ApplicationError {
  const seconds = Number(headers['retry-after'])
  const retryAfter = Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 86_400) : 5
  return status === 429
    ? new ApplicationError('rate_limited', `The engine of ${modelName} has no room now.`, retryAfter)
    : new ApplicationError('upstream_unavailable', `The engine of ${modelName} responded with ${status}.`)
}

/** Reads the counts in what an engine sends after the request has left it. */
export class LeftResponse implements ResponseHandler {
  /** null before the head, and if the response is no stream */
  #meter: BodyMeter | null
  readonly #openMeter: (head: ResponseHead) => BodyMeter | null
  readonly #onClosed: () => void
  #isOpen = true

  /** `meter` has read the response so far; null before the head. */
  constructor(
    meter: BodyMeter | null,
    openMeter: (head: ResponseHead) => BodyMeter | null,
    onClosed: () => void,
  ) {
    this.#meter = meter
    this.#openMeter = openMeter
    this.#onClosed = onClosed
  }

  /** More may come. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** The last count; null without any */
  usage(): TokenUsage | null {
    return this.#meter === null ? null : this.#meter.partialUsage()
  }

  close(): void {
    this.#isOpen = false
  }

  onHead(head: ResponseHead): null {
    this.#meter = head.status === 200 ? this.#openMeter(head) : null
    return null
  }

  onBody(bytes: Buffer): void {
    this.#meter?.take(bytes.toString('latin1'))
  }

  onEnd(): void {
    this.close()
    this.#onClosed()
  }

  onError(): void {
    this.onEnd()
  }
}
