import { freeBuffer } from '../../../base/free-buffer.ts'
import type { ApplicationError } from '../../../base/errors.ts'
import type { FlowControl } from '../../../gateway/response-stream.ts'
import { UpstreamError } from '../../../gateway/upstream-client/upstream-error.ts'
import type { ResponseHead } from '../../../gateway/upstream-client/upstream.ts'
import { userIdOf } from '../../deployments/serving/asker.ts'
import type { Asker } from '../../deployments/serving/asker.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { TokenJournal } from '../../metering/token-journal.ts'
import type { Arrival, Caller, CallerReply } from '../arrival/caller.ts'
import { ExchangeRecord } from '../counting/exchange-record.ts'
import type { ExchangeRecordDeps } from '../counting/exchange-record.ts'
import type { BrokenBy } from '../counting/finished-exchange.ts'
import type { Edit } from '../protocols/body-edits.ts'
import type { ErrorFacts } from '../protocols/protocol.ts'
import { openRelay } from '../relay/buffered-relay.ts'
import type { RelayOwner, ResponseRelay } from '../relay/response-relay.ts'
import { openStreamMeter } from '../relay/stream-meter.ts'
import { modelLost, toGatewayError } from '../targets/gateway-errors.ts'
import type { EngineTarget } from '../targets/targets.ts'
import type { AdmissionRequest } from '../waiting/admission.ts'
import { hashOpening } from '../waiting/prefix-key.ts'
import { EngineRequest, LeftResponse } from './engine-request.ts'
import type { EngineRequestDeps, EngineRequestOwner } from './engine-request.ts'
import type { Inference } from './inference.ts'
import type { Revocable } from './revoke-access.ts'
import type { UnansweredRequest } from './send-again.ts'

export interface ExchangeDeps extends EngineRequestDeps, ExchangeRecordDeps {
  inference: Omit<
    Inference,
    'members' | 'targets' | 'waking' | 'slices' | 'statistics' | 'inFlight' | 'close'
  >
  tokens: Pick<TokenJournal, 'record' | 'log' | 'write'>
  /** Resumes the request at an engine that this process doesn't know, or ends it with the error. */
  sendAgain(request: UnansweredRequest, error: unknown): void
  /** The caller's text for an error */
  toPublicError(error: unknown): ErrorFacts
}

/**
 * The legal transitions of an exchange. A caller may leave in any state. An exchange fails, with an error or
 * a truncated response, if the engine breaks off, the caller loses access, or no place becomes free.
 */
const transitions = {
  /** Waits for a place at a deployment */
  queued: ['sent', 'failed', 'ended'],
  /** Waits for the engine's head. Returns to the queue if the engine is lost, or for other deployments. */
  sent: ['queued', 'body', 'failed', 'ended'],
  /** The relay takes the body */
  body: ['complete', 'failed', 'ended'],
  /** The engine's response is complete; the relay writes the rest of it, unless the engine lost the model */
  complete: ['queued', 'failed', 'ended'],
  /** An error is being sent, or the response was truncated */
  failed: ['ended'],
  /** The caller's connection or the response has ended. The engine's last count may still come. */
  ended: ['settled'],
  /** The engine sends no more, so that what the request used can be recorded */
  settled: [],
} as const satisfies Record<string, readonly string[]>

type ExchangeState = keyof typeof transitions

/** The states that may follow `From`, so that an illegal transition doesn't compile. */
type NextState<From extends ExchangeState> = (typeof transitions)[From][number]

/** The states in which an exchange holds a place in admission and has a request at an engine. */
function isAtEngine(state: ExchangeState): boolean {
  return state === 'sent' || state === 'body'
}

/** One request to an engine and back, in the states of `transitions`. A class: instances share methods. */
export class Exchange
  implements AdmissionRequest, EngineRequestOwner, UnansweredRequest, RelayOwner, Revocable
{
  readonly #deps: ExchangeDeps
  #arrival: Arrival
  #state: ExchangeState = 'queued'
  targets: readonly EngineTarget[]
  openIndex = -1
  readonly userId: number
  readonly #record: ExchangeRecord
  /** About four bytes of text are a token; others, such as images, are never longer than the context. */
  readonly promptTokens: number
  /** undefined until the request has a choice of targets */
  #prefixHash: number | null | undefined = undefined
  #refusedBy: ReadonlySet<string> = noRefusals
  /** The last engine that got the request; null for none */
  #engine: EngineRequest | null = null
  /** The request was put back into the queue of its deployments because its engine was lost */
  #hasReturned = false
  /** An engine was lost while it had the request, which only one more gets */
  #mayHaveBroken = false
  /** null until the engine responds */
  #relay: ResponseRelay | null = null
  /** null unless this left an engine that was processing the request */
  #left: LeftResponse | null = null

  constructor(deps: ExchangeDeps, arrival: Arrival) {
    const { caller, targets, request } = arrival
    const [{ contextTokens }] = targets as readonly [EngineTarget, ...EngineTarget[]]
    this.promptTokens = Math.min(Math.ceil(request.body.length / 4), contextTokens ?? Infinity)
    this.#deps = deps
    this.#arrival = arrival
    this.targets = targets
    this.userId = userIdOf(caller.asker)
    this.#record = new ExchangeRecord(deps, arrival)
    caller.request.hasOwnAccessLog = true
  }

  get arrival(): Arrival {
    return this.#arrival
  }

  get asker(): Asker {
    return this.#arrival.caller.asker
  }

  get model(): string {
    return this.#arrival.request.model
  }

  get afterOrder(): number {
    return this.#arrival.afterOrder
  }

  get fallsBack(): boolean {
    return this.#arrival.fallback !== null && this.#arrival.targets[0]!.fallsBack
  }

  get dropsRefusals(): boolean {
    return this.fallsBack || this.#arrival.fallback?.hasFallenBack === true
  }

  get arrivedAt(): number {
    return this.#arrival.caller.arrivedAt
  }

  get sequences(): number {
    return this.#arrival.request.sequences
  }

  get refusedBy(): ReadonlySet<string> {
    return this.#refusedBy
  }

  /** All deployments that may serve the request, because it may still fail over to another one */
  get deploymentIds(): string[] {
    return [...new Set(this.targets.map(({ deploymentId }) => deploymentId))]
  }

  get traceparent(): string | null {
    return this.#record.traceparent
  }

  get target(): EngineTarget {
    return this.#engine!.target
  }

  get flow(): FlowControl | null {
    return this.#engine!.flow
  }

  get silentTarget(): EngineTarget | null {
    return this.#state === 'sent' ? this.target : null
  }

  get #isMetered(): boolean {
    return this.#arrival.protocol.bodies.usageAt !== null
  }

  get isUse(): boolean {
    return this.#isMetered && this.#engine?.isRefusal !== true
  }

  hashPrefix(): number | null {
    if (this.#prefixHash === undefined) {
      const { body, messagesAt, model } = this.#arrival.request
      const scope = `${this.targets[0]!.organizationId} ${model}`
      const { prefixKey } = this.#deps.inference
      this.#prefixHash =
        prefixKey === null || messagesAt < 0 ? null : hashOpening(prefixKey, scope, body, messagesAt)
    }
    return this.#prefixHash
  }

  generatedTokens(): number {
    return (this.#record.usage ?? this.#partialUsage())?.outputTokens ?? 0
  }

  /** Starts the request: immediately when a deployment has room, otherwise from the queue. */
  start(): void {
    const { admission, openRequests } = this.#deps.inference
    openRequests.add(this)
    admission.request(this)
  }

  /** Changes the state, and gives up the place in admission with the states that need it. */
  #move<From extends ExchangeState>(from: From, to: NextState<From>): void {
    this.#state = to
    if (isAtEngine(from) && !isAtEngine(to)) this.#deps.inference.admission.release(this, this.target)
  }

  admit(target: EngineTarget): void {
    this.#record.admit()
    this.#engine = new EngineRequest(this.#deps, this, target, this.#hasReturned)
    this.#move('queued', 'sent')
  }

  pickOther(refused: EngineTarget): EngineTarget | null {
    const { admission } = this.#deps.inference
    this.#refusedBy = new Set([...this.#refusedBy, refused.instanceId])
    const other = admission.pickTarget(this)
    if (other !== null) admission.transfer(this, refused, other)
    return other
  }

  /** Gives up its place and looks for another engine. Only once: the request may have broken the engine. */
  onUnanswered(error: unknown, hasMoved: boolean): void {
    this.#mayHaveBroken ||= hasMoved
    if (this.#hasReturned) return this.giveUp(error, 'engine')
    this.#hasReturned = true
    this.#move('sent', 'queued')
    this.#deps.sendAgain(this, error)
  }

  onFull(error: Error): void {
    this.giveUp(error, null)
  }

  /** Leaves the deployment, which can't serve the request, for the next one of the alias, or fails. */
  giveUp(error: unknown, brokenBy: BrokenBy | null): void {
    const state = this.#state
    const { fallback, caller } = this.#arrival
    if (fallback === null || !mayLeave(state)) return this.fail(error, brokenBy)
    if (state !== 'queued') this.#move(state, 'queued')
    const reason = brokenBy === 'engine' ? toGatewayError(error) : error
    if (!fallback.goOn(caller, reason, this.#arrival.targets[0]!)) this.fail(error, brokenBy)
  }

  /** Queues the request for deployments of a later order of the alias. */
  moveTo(arrival: Arrival): void {
    if (this.#state !== 'queued') return
    this.#arrival = arrival
    this.targets = arrival.targets
    this.#refusedBy = noRefusals
    this.#hasReturned = this.#mayHaveBroken
    this.#deps.inference.admission.request(this)
  }

  hold(caller: Caller): void {
    this.#arrival = { ...this.#arrival, caller }
  }

  resume(targets: readonly EngineTarget[]): void {
    if (this.#state !== 'queued') return
    this.targets = targets
    this.#deps.inference.admission.request(this)
  }

  leaveLostEngine(): void {
    if (this.#state !== 'sent' || this.#engine!.leaveLostEngine()) return
    if (!this.fallsBack || this.#mayHaveBroken) return
    this.#mayHaveBroken = true
    this.#engine!.abort()
    this.giveUp(new UpstreamError('broken', 'the engine was lost'), 'engine')
  }

  onResponse(head: ResponseHead): Buffer | null {
    this.#move('sent', 'body')
    this.#record.respond(head.status)
    const { countedAt } = this.#arrival.protocol
    // An engine that counts prompts may have to count this one until its response starts.
    if (countedAt === null || this.target.counts.afterAbort !== 'tokenize') this.#releaseBody()
    if (this.target.aliasOrder !== null) nameDeployment(this.#arrival.caller.reply, this.target)
    this.#relay = openRelay(this.#deps, this, head)
    return this.#relay.buffer
  }

  /** The request is not repeated, so its body need not stay in memory during a long stream. */
  #releaseBody(): void {
    const { request, caller, fallback } = this.#arrival
    if (request.body === '') return
    // The engine may have lost the model.
    if (fallback !== null && this.#record.status >= 400) return
    if (typeof request.body !== 'string' && this.#engine!.isBodySent) freeBuffer(request.body)
    request.body = ''
    request.edits = noEdits
    if (fallback !== null) this.#arrival = { ...this.#arrival, fallback: null }
    caller.request.bodyHold?.release()
  }

  onBytes(bytes: Buffer): void {
    this.#releaseBody()
    this.#relay = this.#relay!.take(bytes)
  }

  onComplete(): void {
    this.#move('body', 'complete')
    this.#relay!.end()
  }

  /** Has a worker restart the engine and tells the caller to retry. */
  onModelLost(): void {
    this.#engine!.report()
    const error = modelLost(this.targets[0]!.modelName)
    const { fallback, caller } = this.#arrival
    if (fallback === null) return void caller.reply.send(error)
    this.#relay?.close()
    this.#relay = null
    this.#record.dropResponse()
    this.giveUp(error, null)
  }

  onIncomplete(): void {
    this.#record.break('engine')
    this.#logBroken('ended its response before the answer was complete')
  }

  #logBroken(what: string, err?: unknown): void {
    const deployment = this.target.deploymentId
    this.#arrival.caller.request.log.warn({ err, deployment }, `the engine ${what}`)
  }

  /** Excludes deployments that the caller may not call anymore. */
  loseDeployments(ids: ReadonlySet<string>, error: unknown): void {
    const lost = this.targets.filter((target) => ids.has(target.deploymentId))
    this.#refusedBy = new Set([...this.#refusedBy, ...lost.map(({ instanceId }) => instanceId)])
    const isLost =
      this.#state === 'queued'
        ? this.targets.every((target) => this.#refusedBy.has(target.instanceId))
        : this.#engine !== null && ids.has(this.target.deploymentId)
    if (isLost) this.fail(error, 'gateway')
  }

  /** Nothing but a slow reader keeps a complete response, and it may still arrive. */
  stop(error: ApplicationError): void {
    if (this.#state !== 'complete') this.fail(error, 'shutdown')
  }

  /** Sends an error response. A response that has begun is truncated, or has an error event at a shutdown. */
  fail(error: unknown, brokenBy: BrokenBy | null): void {
    const state = this.#state
    if (state === 'failed' || state === 'ended' || state === 'settled') return
    this.#record.break(brokenBy)
    this.#leave(state, 'failed')
    const relay = this.#relay
    const { reply } = this.#arrival.caller
    // The response of a stream that waited for its engine may have begun, but not with the engine's answer.
    if (relay === null || relay.forwardedAt === 0) {
      relay?.close()
      return void reply.send(brokenBy === 'engine' ? toGatewayError(error) : error)
    }
    if (brokenBy === 'engine') this.#logBroken('broke off its response', error)
    if (brokenBy === 'shutdown') relay.endWith(this.#deps.toPublicError(error))
    else relay.truncate()
  }

  /** The caller's connection has closed: the response is complete or the caller left. */
  close(): void {
    const state = this.#state
    if (state === 'ended' || state === 'settled') return
    this.#record.end(!this.#arrival.caller.reply.raw.writableFinished)
    this.#deps.inference.openRequests.delete(this)
    this.#relay?.close()
    this.#leave(state, 'ended')
    this.#settle()
  }

  /** Changes the state and leaves the queue or the engine in any state. */
  #leave<From extends ExchangeState>(from: From, to: NextState<From>): void {
    if (from === 'queued') this.#deps.inference.admission.cancel(this)
    if (isAtEngine(from)) this.#leaveEngine(this.#engine!)
    this.#move(from, to)
  }

  /** Leaves the engine, and reads what it sent before it noticed if that may have a count. */
  #leaveEngine(engine: EngineRequest): void {
    if (engine.isProcessing) {
      const { inEvents, afterAbort } = engine.target.counts
      const mayCount = this.#arrival.request.streams && inEvents !== 'none' && afterAbort !== 'report'
      const left = new LeftResponse(
        this.#relay === null ? null : this.#relay.meter,
        (head) => openStreamMeter(this, head),
        () => this.#settle(),
      )
      this.#left = left
      if (mayCount && engine.leave(left)) return
      left.close()
    }
    engine.abort()
  }

  /** What a response that is not complete has reported last */
  #partialUsage(): TokenUsage | null {
    return this.#left?.usage() ?? this.#relay?.meter?.partialUsage() ?? null
  }

  /** Meters the request; later calls have no effect. */
  recordUsage(usage: TokenUsage | null): void {
    if (this.#record.usage !== null) return
    if (usage === null && !this.#isMetered) return
    if (usage === null) this.#logBroken('reported no usage')
    // The request counts, also without tokens.
    this.#record.meter(usage ?? { inputTokens: 0, outputTokens: 0 }, this.#arrival, this.target)
  }

  /** Records the usage once the caller and the engine have ended. Asks an engine that has sent no count. */
  #settle(): void {
    const left = this.#left
    if (this.#state !== 'ended' || left?.isOpen === true) return
    this.#move('ended', 'settled')
    if (this.#record.usage !== null) return this.#report()
    const partial = this.#partialUsage()
    const isAsked =
      this.#isMetered && left !== null && (partial === null || this.target.counts.afterAbort === 'report')
    if (!isAsked) {
      if (partial !== null) this.recordUsage(partial)
      return this.#report()
    }
    this.#deps.inference.abortedRequests.count(this.#arrival, this.target, (counted) => {
      const usage = counted ?? partial
      if (usage !== null) this.recordUsage(usage)
      this.#report()
    })
  }

  #report(): void {
    this.#record.report({ arrival: this.#arrival, engine: this.#engine, relay: this.#relay })
  }
}

/** The states before the first part of an engine's answer goes to the caller. */
function mayLeave(state: ExchangeState): state is 'queued' | 'sent' | 'complete' {
  return state === 'queued' || state === 'sent' || state === 'complete'
}

/** Names the deployment that answers. A stream that waited has its head already, and gets a comment. */
function nameDeployment(reply: CallerReply, { deploymentId }: EngineTarget): void {
  if (!reply.raw.headersSent) return void reply.header('x-berth-deployment', deploymentId)
  reply.raw.write(`: x-berth-deployment: ${deploymentId}\n\n`)
}

const noRefusals: ReadonlySet<string> = new Set()
const noEdits: readonly Edit[] = []
