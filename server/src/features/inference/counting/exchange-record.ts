import { userIdOf } from '../../deployments/serving/asker.ts'
import { findUsageTeam } from '../../deployments/serving/usage-team.ts'
import type { LoggedRequest } from '../../metering/request-log.ts'
import type { TokenJournal } from '../../metering/token-journal.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { Arrival } from '../arrival/caller.ts'
import { hidesCache } from '../relay/buffered-relay.ts'
import type { ResponseRelay } from '../relay/response-relay.ts'
import type { EngineTarget } from '../targets/targets.ts'
import type { EngineTotals } from './engine-totals.ts'
import type { BrokenBy, FinishedExchange } from './finished-exchange.ts'
import { readLoggedHead } from './log-request.ts'
import type { LoggedHead } from './log-request.ts'
import type { RequestSpan, Traces } from './traces.ts'

export interface ExchangeRecordDeps {
  inference: { readonly traces: Traces | null; readonly engineTotals: EngineTotals }
  tokens: Pick<TokenJournal, 'record' | 'log'>
  /** False if the installation keeps no log of requests */
  logsRequests: boolean
  /** Called once for each exchange, when it has ended and its tokens are known. */
  onFinished(exchange: FinishedExchange): void
}

/** Who takes part in an exchange when it ends. */
interface Ended {
  readonly arrival: Arrival
  /** The last engine that got the request; null for none */
  readonly engine: { readonly target: EngineTarget; readonly sentAt: number } | null
  /** null if no engine responded */
  readonly relay: ResponseRelay | null
}

/**
 * The times, tokens and end of one exchange, for metering, the request log, statistics and traces. Times are
 * by `performance.now()`, and 0 until they come. A class: instances share methods.
 */
export class ExchangeRecord {
  readonly #deps: ExchangeRecordDeps
  readonly #head: LoggedHead
  readonly #span: RequestSpan | null
  readonly #startedAt = performance.now()
  #admittedAt = 0
  #firstByteAt = 0
  #endedAt = 0
  #status = 0
  #brokenBy: BrokenBy | null = null
  #usage: TokenUsage | null = null

  /** Starts the time in the queue, and the span. */
  constructor(deps: ExchangeRecordDeps, { caller, protocol, targets }: Arrival) {
    const { headers } = caller.request
    this.#deps = deps
    this.#head = readLoggedHead(headers)
    const { traceparent } = headers
    const parent = typeof traceparent === 'string' ? traceparent : undefined
    const { traces } = deps.inference
    this.#span = traces === null ? null : traces.begin(protocol, targets[0]!.modelName, parent)
  }

  get traceparent(): string | null {
    return this.#span === null ? null : this.#span.traceparent
  }

  /** null until the request is metered */
  get usage(): TokenUsage | null {
    return this.#usage
  }

  /** Of the engine's response */
  get status(): number {
    return this.#status
  }

  /** An engine gets the request. */
  admit(): void {
    this.#admittedAt = performance.now()
  }

  /** The engine's response begins. */
  respond(status: number): void {
    this.#firstByteAt = performance.now()
    this.#status = status
  }

  /** Another engine may respond in place of the one that did. */
  dropResponse(): void {
    this.#firstByteAt = 0
    this.#status = 0
  }

  /** Notes who broke the exchange; null for nobody, such as when the queue is full. */
  break(by: BrokenBy | null): void {
    this.#brokenBy = by
  }

  /** The response is complete, or its caller has left. */
  end(callerLeft: boolean): void {
    this.#endedAt = performance.now()
    if (callerLeft) this.#brokenBy ??= 'caller'
  }

  /** Meters the request, once. Before the response ends, if the engine counts in time. */
  meter(usage: TokenUsage, arrival: Arrival, target: EngineTarget): void {
    this.#usage = usage
    const endedAt = this.#endedAt > 0 ? this.#endedAt : performance.now()
    const { logsRequests, tokens } = this.#deps
    const logged = logsRequests ? this.#toLogged(arrival, target, endedAt) : null
    const { asker } = arrival.caller
    const caller = {
      userId: userIdOf(asker),
      outsideName: asker.outsideName,
      teamId: findUsageTeam(asker.member ?? asker.viewer, target),
      processingMilliseconds: Math.max(0, Math.round(endedAt - this.#admittedAt)),
    }
    tokens.record(target, usage, caller, logged)
  }

  /** Reports the exchange, once it has ended and its tokens are known. */
  report(ended: Ended): void {
    const { arrival, engine } = ended
    const { inference, logsRequests, tokens } = this.#deps
    const usage = this.#usage
    if (engine !== null) inference.engineTotals.add(engine.target, usage)
    const finished = this.#describe(ended)
    this.#span?.end(finished)
    if (usage === null && logsRequests) {
      const target = engine === null ? arrival.targets[0]! : engine.target
      tokens.log(this.#toLogged(arrival, target, this.#endedAt))
    }
    this.#deps.onFinished(finished)
  }

  /** The entry of the request log. Written with the tokens, or else when the exchange is reported. */
  #toLogged(arrival: Arrival, target: EngineTarget, endedAt: number): LoggedRequest {
    const { caller, protocol, request, receivedAt } = arrival
    const { raw } = caller.reply
    const firstByteAt = this.#firstByteAt
    const unsent = this.#endedAt > 0 ? 499 : this.#status
    return {
      id: caller.request.id,
      ageMilliseconds: performance.now() - receivedAt,
      organizationId: target.organizationId,
      userId: userIdOf(caller.asker),
      deploymentId: target.deploymentId,
      model: target.modelName,
      route: protocol.path,
      status: raw.headersSent ? raw.statusCode : unsent,
      firstTokenMilliseconds: request.streams && firstByteAt > 0 ? firstByteAt - receivedAt : null,
      durationMilliseconds: endedAt - receivedAt,
      client: this.#head.client,
      retry: this.#head.retry,
      callerLeft: this.#brokenBy === 'caller',
      hidesCache: hidesCache({ target, arrival }),
    }
  }

  #describe(ended: Ended): FinishedExchange {
    const { arrival, engine } = ended
    const { caller, request, targets } = arrival
    const { raw } = caller.reply
    return {
      protocol: arrival.protocol,
      requestId: caller.request.id,
      userId: userIdOf(caller.asker),
      modelName: targets[0]!.modelName,
      streams: request.streams,
      retry: this.#head.retry,
      deploymentId: engine === null ? null : engine.target.deploymentId,
      status: raw.headersSent ? raw.statusCode : 499,
      brokenBy: this.#brokenBy,
      usage: this.#usage,
      receivedAt: arrival.receivedAt,
      waitedMilliseconds: engine === null ? 0 : this.#admittedAt - this.#startedAt,
      firstByteAt: this.#firstByteAt,
      endedAt: this.#endedAt,
      overheadMilliseconds: this.#overhead(ended),
    }
  }

  #overhead({ arrival, engine, relay }: Ended): number | null {
    if (engine === null || relay === null || relay.forwardedAt === 0) return null
    const before = this.#startedAt - arrival.receivedAt + (engine.sentAt - this.#admittedAt)
    return before + relay.forwardedAt - (relay.completeAt > 0 ? relay.completeAt : this.#firstByteAt)
  }
}
