import { freeBuffer } from '../../free-buffer.ts'
import type { ResponseHandler, ResponseHead, UpstreamCall } from '../../gateway/upstream-client/upstream.ts'
import { UpstreamError } from '../../gateway/upstream-client/upstream-error.ts'
import type { Services } from '../../services.ts'
import { reportUnresponsiveEngine } from '../deployments/serving-deployments.ts'
import type { TokenUsage } from '../metering/record-tokens.ts'
import type { TokenJournal } from '../metering/token-journal.ts'
import type { AdmissionRequest } from './admission.ts'
import { BufferedRelay } from './buffered-relay.ts'
import type { Caller, CallerReply } from './caller.ts'
import type { FinishedExchange, InferencePath } from './finished-exchange.ts'
import { modelLost, toGatewayError } from './gateway-errors.ts'
import type { Inference } from './inference.ts'
import { ModelRenaming } from './model-renaming.ts'
import { writeEngineBody } from './request-body.ts'
import type { InferenceRequest } from './request-body.ts'
import { accessRevoked } from './revoke-access.ts'
import type { Revocable } from './revoke-access.ts'
import type { RelayOwner, ResponseRelay } from './response-relay.ts'
import { StreamMeter } from './stream-meter.ts'
import { StreamRelay } from './stream-relay.ts'
import type { EngineTarget } from './targets.ts'
import type { RequestSpan } from './traces.ts'

export interface ExchangeDeps extends Pick<Services, 'db' | 'runtime'> {
  inference: Inference
  tokens: TokenJournal
}

/** One request on its way to an engine and back. A class, because one is created per request and instances share their methods. */
export class Exchange implements AdmissionRequest, ResponseHandler, RelayOwner, FinishedExchange, Revocable {
  readonly deps: ExchangeDeps
  readonly path: InferencePath
  readonly caller: Caller
  readonly reply: CallerReply
  readonly request: InferenceRequest
  readonly targets: readonly EngineTarget[]
  readonly userId: number
  target: EngineTarget | null = null
  openIndex = -1
  /** Holds a place in admission */
  admitted = false
  refusedBy: ReadonlySet<string> = noRefusals
  call: UpstreamCall | null = null
  retried = false
  /** The engine rejected the authorization */
  unauthorized = false
  renewed = false
  relay: ResponseRelay | null = null
  /** The caller's connection or the response has ended */
  closed = false
  usage: TokenUsage | null = null
  span: RequestSpan | null = null
  brokenBy: 'caller' | 'engine' | null = null
  readonly receivedAt: number
  startedAt = 0
  admittedAt = 0
  sentAt = 0
  firstByteAt = 0
  endedAt = 0

  constructor(
    deps: ExchangeDeps,
    path: InferencePath,
    caller: Caller,
    request: InferenceRequest,
    targets: readonly EngineTarget[],
    receivedAt: number,
  ) {
    this.deps = deps
    this.path = path
    this.caller = caller
    this.reply = caller.reply
    this.request = request
    this.targets = targets
    this.userId = caller.request.viewer.userId
    this.receivedAt = receivedAt
    caller.request.hasOwnAccessLog = true
  }

  /** Starts the request: immediately when a deployment has room, otherwise from the queue. */
  start(): void {
    this.startedAt = performance.now()
    const { traces, admission, openRequests } = this.deps.inference
    openRequests.add(this)
    if (traces !== null) {
      const traceparent = this.caller.request.headers['traceparent']
      const parent = typeof traceparent === 'string' ? traceparent : undefined
      this.span = traces.begin(this.path, this.modelName, parent)
    }
    admission.request(this)
  }

  reject(error: Error): void {
    if (!this.closed) void this.reply.send(error)
  }

  admit(target: EngineTarget): void {
    this.admitted = true
    this.target = target
    this.admittedAt = performance.now()
    this.send(target)
  }

  send(target: EngineTarget): void {
    const { breakers, client } = this.deps.inference
    breakers.onSend(target.deploymentId)
    this.sentAt = performance.now()
    this.call = client.send(
      target.origin,
      {
        path: target.basePath === '' ? this.path : target.basePath + this.path,
        streams: this.request.streams,
        requestId: this.caller.request.id,
        authorization: target.authorization,
        traceparent: this.span === null ? null : this.span.traceparent,
        body: writeEngineBody(this.request, target.modelUid),
      },
      this,
    )
  }

  onHead(head: ResponseHead): Buffer | null {
    this.unauthorized = head.status === 401
    if (this.unauthorized && this.canRenew) return null
    this.firstByteAt = performance.now()
    // The request is not retried from here on, so its body need not stay in memory during a long stream.
    const { body } = this.request
    if (typeof body !== 'string' && this.call!.bodySent) freeBuffer(body)
    this.request.body = ''
    this.caller.request.bodyHold?.release()
    const { breakers } = this.deps.inference
    if (head.status < 500) breakers.onSuccess(this.target!.deploymentId)
    else breakers.onFailure(this.target!.deploymentId)
    this.relay = this.openRelay(head)
    return this.relay.buffer
  }

  openRelay(head: ResponseHead): ResponseRelay {
    const { deps, request } = this
    if (head.headers['content-type']?.startsWith('text/event-stream')) {
      return new StreamRelay(deps, this, head, new StreamMeter(!request.includesUsage, this.renaming), true)
    }
    return new BufferedRelay(deps, this, head)
  }

  onBody(bytes: Buffer): void {
    if (!this.unauthorized) this.relay = this.relay!.take(bytes)
  }

  onEnd(): void {
    this.call = null
    if (this.unauthorized && this.canRenew) return void this.renewAuthorization(this.target!)
    this.release()
    if (!this.unauthorized) return this.relay!.end()
    // The caller can't fix this 401, so it becomes a 502.
    this.caller.request.log.error(
      { deployment: this.deploymentId },
      'the engine rejected its key; SECRET_KEY may differ from the one that the engine started with',
    )
    this.fail(new UpstreamError('broken', 'the engine rejected the authorization'))
  }

  /** Renews the authorization that the engine rejected and sends the same request again. */
  async renewAuthorization(target: EngineTarget): Promise<void> {
    this.renewed = true
    const { runtime } = this.deps
    try {
      target.authorization = await runtime.authorizeEngine!(target.engineUrl ?? '', target.authorization)
    } catch (error) {
      this.release()
      if (!this.closed) this.fail(error)
      return
    }
    if (!this.closed) this.send(target)
  }

  onError(error: UpstreamError): void {
    this.call = null
    const target = this.target!
    // The engine closed a keep-alive connection before the request arrived.
    if (error.kind === 'stale' && !this.retried) {
      this.retried = true
      return this.send(target)
    }
    this.deps.inference.breakers.onFailure(target.deploymentId)
    this.requeueDeployment(target)
    if (error.kind === 'refused' && this.failOver(target)) return
    this.release()
    this.fail(error)
  }

  /** Sends the request to another deployment; false when none is left. */
  failOver({ deploymentId }: EngineTarget): boolean {
    const { admission } = this.deps.inference
    this.refusedBy = new Set([...this.refusedBy, deploymentId])
    const next = admission.pickTarget(this)
    if (next === null) return false
    admission.transfer(deploymentId, next.deploymentId)
    this.target = next
    this.send(next)
    return true
  }

  /** Ends the exchange with an error response, or truncates a response that has begun. */
  fail(error: unknown): void {
    if (this.closed) return
    this.brokenBy = 'engine'
    if (!this.reply.raw.headersSent) return void this.reply.send(toGatewayError(error))
    const { log } = this.caller.request
    log.warn({ err: error, deployment: this.deploymentId }, 'the engine broke off its response')
    this.relay?.truncate()
  }

  /** Ends the exchange because the caller lost access. A response that has begun is truncated. */
  revoke(): void {
    if (this.closed) return
    this.brokenBy = 'caller'
    this.call?.abort()
    this.call = null
    this.release()
    if (!this.reply.raw.headersSent) return void this.reply.send(accessRevoked())
    this.relay?.truncate()
  }

  onWriteError(error: unknown): void {
    this.call?.abort()
    this.call = null
    this.release()
    this.fail(error)
  }

  /** Has a worker restart the engine and tells the caller to retry. */
  onModelLost(): void {
    const target = this.target!
    this.requeueDeployment(target)
    void this.reply.send(modelLost(target.modelName))
  }

  /** Requeues the deployment for a worker. Requests that fail together wake the worker once. */
  requeueDeployment(target: EngineTarget): void {
    reportUnresponsiveEngine(this.deps, target).catch((error: unknown) =>
      this.caller.request.log.warn(
        { err: error, deployment: target.deploymentId },
        'could not requeue a deployment with an unresponsive engine',
      ),
    )
  }

  /** Meters the request; later calls have no effect. */
  recordUsage(usage: TokenUsage | null): void {
    const { target } = this
    if (target === null || this.usage !== null) return
    if (usage === null) {
      const { log } = this.caller.request
      return log.warn({ deployment: target.deploymentId }, 'the engine reported no usage')
    }
    this.usage = usage
    this.deps.tokens.record(target, usage)
  }

  /** Gives up the place in admission. */
  release(): void {
    if (!this.admitted) return
    this.admitted = false
    this.deps.inference.admission.release(this.userId, this.target!.deploymentId)
  }

  /** The caller's connection has closed: the response is complete or the caller left. */
  close(): void {
    if (this.closed) return
    this.closed = true
    this.endedAt = performance.now()
    this.deps.inference.openRequests.delete(this)
    if (this.target === null) this.deps.inference.admission.cancel(this)
    if (!this.reply.raw.writableFinished) this.brokenBy ??= 'caller'
    this.relay?.close()
    this.call?.abort()
    this.call = null
    this.release()
    this.span?.end(this)
    this.caller.onFinished(this)
  }

  get sessionId(): number {
    return this.caller.request.viewer.session.id
  }

  get requestId(): string {
    return this.caller.request.id
  }

  /** True if the runtime issues the authorization and has not renewed it for this request */
  get canRenew(): boolean {
    return !this.renewed && this.deps.runtime.authorizeEngine !== undefined
  }

  get modelName(): string {
    return this.targets[0]!.modelName
  }

  get modelUid(): string {
    return this.target!.modelUid
  }

  get renaming(): ModelRenaming | null {
    const { request, modelUid } = this
    return request.model === modelUid ? null : new ModelRenaming(modelUid, request.model)
  }

  get streams(): boolean {
    return this.request.streams
  }

  get deploymentId(): string | null {
    return this.target === null ? null : this.target.deploymentId
  }

  get status(): number {
    const { raw } = this.reply
    return raw.headersSent ? raw.statusCode : 499
  }

  get overheadMilliseconds(): number | null {
    const { relay } = this
    if (relay === null || relay.forwardedAt === 0) return null
    const before = this.startedAt - this.receivedAt + (this.sentAt - this.admittedAt)
    return before + relay.forwardedAt - (relay.completeAt > 0 ? relay.completeAt : this.firstByteAt)
  }
}

const noRefusals: ReadonlySet<string> = new Set()
