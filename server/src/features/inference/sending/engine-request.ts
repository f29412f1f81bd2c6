import type { CircuitBreakers } from '../../../gateway/circuit-breakers.ts'
import type {
  ResponseHandler,
  ResponseHead,
  UpstreamCall,
  UpstreamClient,
} from '../../../gateway/upstream-client/upstream.ts'
import { UpstreamError } from '../../../gateway/upstream-client/upstream-error.ts'
import type { Services } from '../../../services.ts'
import { reportEngine } from '../../deployments/serving/report-engine.ts'
import type { Arrival } from '../arrival/arrival.ts'
import { writeEngineBody } from '../arrival/request-body.ts'
import type { EngineTarget } from '../targets/targets.ts'
import type { RequestSpan } from '../counting/traces.ts'

export interface EngineRequestDeps extends Pick<Services, 'db' | 'runtime'> {
  inference: { breakers: CircuitBreakers; client: UpstreamClient }
}

/** The exchange that sends a request to an engine. */
export interface EngineRequestOwner {
  readonly arrival: Arrival
  /** null without traces */
  readonly span: RequestSpan | null
  /** The request came back from an engine that did not begin to answer */
  readonly hasReturned: boolean
  /** Returns another deployment for a request that `refusing` did not accept; null when none is left. */
  pickOther(refusing: EngineTarget): EngineTarget | null
  /** A response has begun, so the request is not repeated. May return a buffer for its body. */
  onResponse(head: ResponseHead): Buffer | null
  onBytes(bytes: Buffer): void
  onComplete(): void
  /** The engine did not begin to answer, and this process knows no other one. */
  onUnanswered(error: UpstreamError): void
  /** No engine gave a complete response. */
  onBroken(error: unknown): void
}

/**
 * A request at an engine. It is repeated where no engine can have processed it: after a stale connection, an
 * expired authorization, and at another instance after a refused connection. If an engine breaks off or is
 * lost before it answers, another instance gets the request, but only once: the request itself may have
 * broken the engine.
 */
export class EngineRequest implements ResponseHandler {
  readonly deps: EngineRequestDeps
  readonly owner: EngineRequestOwner
  target: EngineTarget
  call: UpstreamCall | null = null
  sentAt = 0
  /** A stale connection was replaced */
  retried = false
  /** The authorization was renewed */
  renewed = false
  /** An engine was lost before it answered */
  moved: boolean
  /** The engine rejected the authorization. The rest of its response is dropped. */
  rejected = false
  aborted = false
  /** Of the response; 0 until it begins */
  status = 0

  constructor(deps: EngineRequestDeps, owner: EngineRequestOwner, target: EngineTarget) {
    this.deps = deps
    this.owner = owner
    this.target = target
    this.moved = owner.hasReturned
    this.send()
  }

  send(): void {
    const { target } = this
    const { breakers, client } = this.deps.inference
    const { protocol, caller, request } = this.owner.arrival
    const { enginePath: path } = protocol
    const { span } = this.owner
    breakers.onSend(target.instanceId)
    this.rejected = false
    this.status = 0
    this.sentAt = performance.now()
    this.call = client.send(
      target.origin,
      {
        path: target.basePath === '' ? path : target.basePath + path,
        streams: request.streams,
        requestId: caller.request.id,
        authorization: target.authorization,
        traceparent: span === null ? null : span.traceparent,
        body: writeEngineBody(request, target),
      },
      this,
    )
  }

  /**
   * Leaves the response to `handler` until the engine notices. Returns false if that is not possible. The
   * owner then hears nothing more.
   */
  leave(handler: ResponseHandler): boolean {
    if (this.rejected || this.call === null || !this.call.leave(handler)) return false
    this.aborted = true
    this.call = null
    return true
  }

  /** Closes the connection. The owner hears nothing more. */
  abort(): void {
    this.aborted = true
    this.call?.abort()
    this.call = null
  }

  onHead(head: ResponseHead): Buffer | null {
    const { breakers } = this.deps.inference
    if (head.status < 500) breakers.onSuccess(this.target.instanceId)
    else breakers.onFailure(this.target.instanceId)
    this.status = head.status
    this.rejected = head.status === 401
    return this.rejected ? null : this.owner.onResponse(head)
  }

  onBody(bytes: Buffer): void {
    if (!this.rejected) this.owner.onBytes(bytes)
  }

  onEnd(): void {
    this.call = null
    if (!this.rejected) return this.owner.onComplete()
    if (!this.renewed && this.deps.runtime.authorizeEngine !== undefined)
      return void this.renewAuthorization()
    // The caller can't fix this 401, so it becomes a 502.
    this.owner.arrival.caller.request.log.error(
      { deployment: this.target.deploymentId },
      'the engine rejected its key; SECRET_KEY may differ from the one that the engine started with',
    )
    this.owner.onBroken(new UpstreamError('broken', 'the engine rejected the authorization'))
  }

  async renewAuthorization(): Promise<void> {
    this.renewed = true
    const { target } = this
    try {
      const { runtime } = this.deps
      target.authorization = await runtime.authorizeEngine!(target.engineUrl, target.authorization)
    } catch (error) {
      if (!this.aborted) this.owner.onBroken(error)
      return
    }
    if (!this.aborted) this.send()
  }

  onError(error: UpstreamError): void {
    this.call = null
    // The engine closed a keep-alive connection before the request arrived.
    if (error.kind === 'stale' && !this.retried) {
      this.retried = true
      return this.send()
    }
    this.deps.inference.breakers.onFailure(this.target.instanceId)
    this.requeueDeployment()
    if (!this.mayMove(error)) return this.owner.onBroken(error)
    const other = this.owner.pickOther(this.target)
    if (other === null) this.owner.onUnanswered(error)
    else this.moveTo(other, error.kind !== 'refused')
  }

  /** An engine that only takes long goes on with the request. */
  mayMove({ kind }: UpstreamError): boolean {
    if (kind === 'refused') return true
    return kind !== 'timeout' && this.status === 0 && !this.moved
  }

  /**
   * The instance is lost, so that no answer may ever come. Without another one, the request goes on waiting.
   */
  leaveLostEngine(): void {
    if (this.moved || this.call === null) return
    const other = this.owner.pickOther(this.target)
    if (other === null) return
    this.call.abort()
    this.moveTo(other, true)
  }

  moveTo(other: EngineTarget, counts: boolean): void {
    this.moved ||= counts
    this.retried = false
    this.target = other
    this.send()
  }

  /** Has a worker check the engine. Requests that fail together wake the worker once. */
  requeueDeployment(): void {
    const { target } = this
    reportEngine(this.deps.db, target.instanceId, 'unresponsive').catch((error: unknown) =>
      this.owner.arrival.caller.request.log.warn(
        { err: error, deployment: target.deploymentId },
        'could not requeue a deployment with an unresponsive engine',
      ),
    )
  }
}
