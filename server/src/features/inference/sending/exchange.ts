import { freeBuffer } from '../../../base/free-buffer.ts'
import type { Viewer } from '../../../base/viewer.ts'
import type { ResponseHead } from '../../../gateway/upstream-client/upstream.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { TokenJournal } from '../../metering/token-journal.ts'
import type { AdmissionRequest } from '../waiting/admission.ts'
import type { Arrival } from '../arrival/arrival.ts'
import type { Edit } from '../protocols/body-edits.ts'
import { EngineRequest } from './engine-request.ts'
import type { EngineRequestDeps, EngineRequestOwner } from './engine-request.ts'
import { isAtEngine } from './exchange-states.ts'
import type { ExchangeState, NextState } from './exchange-states.ts'
import { describeExchange } from '../counting/finished-exchange.ts'
import type { BrokenBy, FinishedExchange } from '../counting/finished-exchange.ts'
import { modelLost, toGatewayError } from '../targets/gateway-errors.ts'
import type { Inference } from './inference.ts'
import { LeftResponse } from '../counting/left-response.ts'
import { openRelay, openStreamMeter } from '../relay/open-relay.ts'
import { hashOpening } from '../waiting/prefix-key.ts'
import type { RelayOwner, ResponseRelay } from '../relay/response-relay.ts'
import type { Revocable } from './revoke-access.ts'
import { StreamRelay } from '../relay/stream-relay.ts'
import type { EngineTarget } from '../targets/targets.ts'
import type { UnansweredRequest } from './send-again.ts'
import type { RequestSpan } from '../counting/traces.ts'

export interface ExchangeDeps extends EngineRequestDeps {
  inference: Omit<Inference, 'targets' | 'waking' | 'slices' | 'statistics' | 'inFlight' | 'close'>
  tokens: Pick<TokenJournal, 'record' | 'write'>
  /**
   * Looks for an engine that this process does not know, and resumes the request, or ends it with the error.
   */
  sendAgain(request: UnansweredRequest, error: unknown): void
  /** Called once for each exchange, when it has ended and its tokens are known. */
  onFinished(exchange: FinishedExchange): void
}

/**
 * One request on its way to an engine and back, in the states of `exchange-states.ts`. A class, because one
 * is created per request and instances share their methods.
 */
export class Exchange
  implements AdmissionRequest, EngineRequestOwner, UnansweredRequest, RelayOwner, Revocable
{
  readonly deps: ExchangeDeps
  arrival: Arrival
  targets: readonly EngineTarget[]
  readonly userId: number
  /**
   * About four bytes of text are a token; what is not text, such as an image, is never longer than the
   * context.
   */
  readonly promptTokens: number
  /** undefined until the request has a choice of targets */
  prefixHash: number | null | undefined = undefined
  state: ExchangeState = 'queued'
  openIndex = -1
  refusedBy: ReadonlySet<string> = noRefusals
  /** The last engine that got the request; null for none */
  engine: EngineRequest | null = null
  /** null until the engine responds */
  relay: ResponseRelay | null = null
  usage: TokenUsage | null = null
  /** What a truncated response reported last */
  partialUsage: TokenUsage | null = null
  /** It was put back into the queue because its engine was gone */
  hasReturned = false
  span: RequestSpan | null = null
  brokenBy: BrokenBy | null = null
  startedAt = 0
  admittedAt = 0
  firstByteAt = 0
  /** 0 until the caller's connection or the response has ended */
  endedAt = 0
  /** The response has begun, and the body is still in memory */
  holdsBody = false
  /** The engine was processing the request when this left it */
  abandoned = false
  /** The engine may have sent a count that has not arrived */
  awaitsCount = false
  /** What is left to do when that count is known; null until the caller's connection has closed */
  settle: (() => void) | null = null

  constructor(deps: ExchangeDeps, arrival: Arrival) {
    const { caller, targets, request } = arrival
    const [{ contextTokens }] = targets as readonly [EngineTarget, ...EngineTarget[]]
    this.promptTokens = Math.min(Math.ceil(request.body.length / 4), contextTokens ?? Infinity)
    this.deps = deps
    this.arrival = arrival
    this.targets = targets
    this.userId = caller.request.viewer.userId
    caller.request.hasOwnAccessLog = true
  }

  get viewer(): Viewer {
    return this.arrival.caller.request.viewer
  }

  get sessionId(): number {
    return this.viewer.session.id
  }

  get model(): string {
    return this.arrival.request.model
  }

  get arrivedAt(): number {
    return this.arrival.caller.arrivedAt
  }

  /** All deployments that may serve the request, because it may still fail over to another one */
  get deploymentIds(): string[] {
    return [...new Set(this.targets.map(({ deploymentId }) => deploymentId))]
  }

  get isMetered(): boolean {
    return this.arrival.protocol.bodies.usageAt !== null
  }

  get deploymentId(): string | null {
    return this.engine === null ? null : this.engine.target.deploymentId
  }

  hashPrefix(): number | null {
    if (this.prefixHash === undefined) {
      const { body, messagesAt, model } = this.arrival.request
      const scope = `${this.targets[0]!.organizationId} ${model}`
      const { prefixKey } = this.deps.inference
      this.prefixHash =
        prefixKey === null || messagesAt < 0 ? null : hashOpening(prefixKey, scope, body, messagesAt)
    }
    return this.prefixHash
  }

  generatedTokens(): number {
    const { usage, partialUsage, relay } = this
    return (usage ?? partialUsage ?? relay?.partialUsage() ?? null)?.outputTokens ?? 0
  }

  /** Starts the request: immediately when a deployment has room, otherwise from the queue. */
  start(): void {
    this.startedAt = performance.now()
    const { traces, admission, openRequests } = this.deps.inference
    openRequests.add(this)
    if (traces !== null) {
      const { protocol, caller } = this.arrival
      const traceparent = caller.request.headers['traceparent']
      const parent = typeof traceparent === 'string' ? traceparent : undefined
      this.span = traces.begin(protocol, this.targets[0]!.modelName, parent)
    }
    admission.request(this)
  }

  /** Changes the state, and gives up the place in admission with the states that need it. */
  move<From extends ExchangeState>(from: From, to: NextState<From>): void {
    this.state = to
    if (isAtEngine(from) && !isAtEngine(to)) {
      this.deps.inference.admission.release(this, this.engine!.target)
    }
  }

  /** Changes the state and leaves the queue or the engine, whatever the state was. */
  leave<From extends ExchangeState>(from: From, to: NextState<From>): void {
    if (from === 'queued') this.deps.inference.admission.cancel(this)
    const { engine } = this
    if (isAtEngine(from) && engine !== null && engine.call !== null) {
      this.abandoned = engine.status === 0 || engine.status === 200
    }
    this.awaitsCount = this.abandoned && this.readsCounts() && this.readLastCount()
    if (!this.awaitsCount) engine?.abort()
    this.move(from, to)
  }

  /** True if the engine counts in the events of the response, and does not tell the count afterwards. */
  readsCounts(): boolean {
    const { inEvents, afterAbort } = this.engine!.target.counts
    return this.arrival.request.streams && inEvents !== 'none' && afterAbort !== 'report'
  }

  /** Leaves the engine, and reads what it sent before it noticed. Returns false if that is not possible. */
  readLastCount(): boolean {
    const { engine, relay } = this
    const response = new LeftResponse(
      relay instanceof StreamRelay ? relay.meter : null,
      (head) => openStreamMeter(this, head),
      (usage) => {
        this.partialUsage = usage ?? this.partialUsage
        this.awaitsCount = false
        this.settle?.()
      },
    )
    return engine!.leave(response)
  }

  reject(error: unknown): void {
    if (this.state !== 'queued') return
    this.move('queued', 'failed')
    void this.arrival.caller.reply.send(error)
  }

  admit(target: EngineTarget): void {
    this.admittedAt = performance.now()
    this.engine = new EngineRequest(this.deps, this, target)
    this.move('queued', 'sent')
  }

  pickOther(refused: EngineTarget): EngineTarget | null {
    const { admission } = this.deps.inference
    this.refusedBy = new Set([...this.refusedBy, refused.instanceId])
    const other = admission.pickTarget(this)
    if (other !== null) admission.transfer(this, refused, other)
    return other
  }

  /**
   * Gives up the place at the engine, and looks for another one. Only once, because the request itself may
   * have broken the engine.
   */
  onUnanswered(error: unknown): void {
    if (this.hasReturned) return this.onBroken(error)
    this.hasReturned = true
    this.move('sent', 'queued')
    this.deps.sendAgain(this, error)
  }

  resume(targets: readonly EngineTarget[]): void {
    if (this.state !== 'queued') return
    this.targets = targets
    this.deps.inference.admission.request(this)
  }

  get silentTarget(): EngineTarget | null {
    return this.state === 'sent' ? this.engine!.target : null
  }

  leaveLostEngine(): void {
    if (this.state === 'sent') this.engine!.leaveLostEngine()
  }

  onResponse(head: ResponseHead): Buffer | null {
    this.move('sent', 'body')
    this.firstByteAt = performance.now()
    // An engine that counts prompts may have to count this one until it has begun to answer.
    this.holdsBody =
      this.arrival.protocol.countedAt !== null && this.engine!.target.counts.afterAbort === 'tokenize'
    if (!this.holdsBody) this.releaseBody()
    this.relay = openRelay(this.deps, this, head)
    return this.relay.buffer
  }

  /** The request is not repeated, so its body need not stay in memory during a long stream. */
  releaseBody(): void {
    const { request, caller } = this.arrival
    if (typeof request.body !== 'string' && this.engine!.call!.bodySent) freeBuffer(request.body)
    request.body = ''
    request.edits = noEdits
    caller.request.bodyHold?.release()
    this.holdsBody = false
  }

  onBytes(bytes: Buffer): void {
    if (this.holdsBody) this.releaseBody()
    this.relay = this.relay!.take(bytes)
  }

  onComplete(): void {
    this.move('body', 'complete')
    this.relay!.end()
  }

  onBroken(error: unknown): void {
    this.fail('engine', error)
  }

  /** Has a worker restart the engine and tells the caller to retry. */
  onModelLost(): void {
    this.engine!.requeueDeployment()
    void this.arrival.caller.reply.send(modelLost(this.targets[0]!.modelName))
  }

  /** Ends the exchange because the caller lost access, or nothing confirms it. */
  revoke(error: unknown): void {
    this.fail('gateway', error)
  }

  /** Excludes deployments that the caller may not call anymore. */
  loseDeployments(ids: ReadonlySet<string>, error: unknown): void {
    const lost = this.targets.filter((target) => ids.has(target.deploymentId))
    this.refusedBy = new Set([...this.refusedBy, ...lost.map(({ instanceId }) => instanceId)])
    const isLost =
      this.state === 'queued'
        ? this.targets.every((target) => this.refusedBy.has(target.instanceId))
        : ids.has(this.deploymentId!)
    if (isLost) this.revoke(error)
  }

  /** Sends an error response, or truncates a response that has begun. */
  fail(brokenBy: 'gateway' | 'engine', error: unknown): void {
    const { state, relay } = this
    if (state === 'failed' || state === 'ended') return
    this.brokenBy = brokenBy
    this.leave(state, 'failed')
    const { reply, request } = this.arrival.caller
    // The response of a stream that waited for its engine may have begun, but not with the engine's answer.
    if (relay === null || relay.forwardedAt === 0) {
      relay?.close()
      return void reply.send(brokenBy === 'engine' ? toGatewayError(error) : error)
    }
    if (brokenBy === 'engine') {
      request.log.warn({ err: error, deployment: this.deploymentId }, 'the engine broke off its response')
    }
    relay?.truncate()
  }

  recordPartialUsage(usage: TokenUsage): void {
    this.partialUsage = usage
  }

  /** Meters the request; later calls have no effect. */
  recordUsage(usage: TokenUsage | null): void {
    if (this.usage !== null) return
    if (usage === null) {
      if (!this.isMetered) return
      const { log } = this.arrival.caller.request
      return log.warn({ deployment: this.deploymentId }, 'the engine reported no usage')
    }
    this.usage = usage
    const endedAt = this.endedAt > 0 ? this.endedAt : performance.now()
    this.deps.tokens.record(this.engine!.target, usage, {
      userId: this.userId,
      processingMilliseconds: Math.max(0, Math.round(endedAt - this.admittedAt)),
    })
  }

  /** The caller's connection has closed: the response is complete or the caller left. */
  close(): void {
    const { state } = this
    if (state === 'ended') return
    this.endedAt = performance.now()
    this.deps.inference.openRequests.delete(this)
    if (!this.arrival.caller.reply.raw.writableFinished) this.brokenBy ??= 'caller'
    this.relay?.close()
    this.leave(state, 'ended')
    const ended = describeExchange(this)
    this.span?.end({ ...ended, usage: this.usage ?? this.partialUsage })
    // Not for each request: with a function in a field, minor collections kept ended requests.
    if (this.awaitsCount) this.settle = () => this.finish(ended)
    else this.finish(ended)
  }

  /**
   * Records what the request used. If its caller left before the engine sent a count, the engine is asked.
   */
  finish(ended: FinishedExchange): void {
    const { partialUsage, engine } = this
    const asksEngine =
      this.isMetered &&
      this.usage === null &&
      this.abandoned &&
      (partialUsage === null || engine!.target.counts.afterAbort === 'report')
    if (!asksEngine) {
      if (partialUsage !== null) this.recordUsage(partialUsage)
      return this.end(ended)
    }
    this.deps.inference.abortedRequests.count(this.arrival, engine!.target, (told) => {
      const usage = told ?? partialUsage
      if (usage !== null) this.recordUsage(usage)
      this.end(ended)
    })
  }

  /** Hands on what is known of the ended request. */
  end(ended: FinishedExchange): void {
    const { engine, usage } = this
    if (engine !== null) this.deps.inference.engineTotals.add(engine.target, usage)
    this.deps.onFinished(ended.usage === usage ? ended : { ...ended, usage })
  }
}

const noRefusals: ReadonlySet<string> = new Set()
const noEdits: readonly Edit[] = []
