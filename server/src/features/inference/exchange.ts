import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Services } from '../../services.ts'
import type { Viewer } from '../../viewer.ts'
import { reportUnresponsiveEngine } from '../deployments/serving-deployments.ts'
import type { TokenUsage } from '../metering/record-tokens.ts'
import type { TokenJournal } from '../metering/token-journal.ts'
import type { Entrant } from './admission.ts'
import { Answer } from './answer.ts'
import { EngineFailure } from './engine-client/client.ts'
import type { AnswerHandler, AnswerHead, EngineCall } from './engine-client/client.ts'
import type { EngineConnections } from './engines.ts'
import { writeEngineBody } from './request-body.ts'
import type { InferenceRequest } from './request-body.ts'
import type { EngineTarget } from './targets.ts'
import type { RequestSpan } from './traces.ts'
import { toUpstreamError } from './upstream-errors.ts'

export type ExchangeDeps = Pick<Services, 'db' | 'clock' | 'log' | 'runtime' | 'secretKey'> & {
  engines: EngineConnections
  tokens: TokenJournal
}

export type InferencePath = '/v1/chat/completions' | '/v1/embeddings'

/** What an exchange asks of the request and the reply of the framework. */
export interface CallerRequest {
  id: string
  headers: IncomingHttpHeaders
  viewer: Viewer
  log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** True: the exchange itself counts and logs the request, and nobody else does */
  accountedFor: boolean
}
export interface CallerReply {
  raw: ServerResponse
  getHeaders(): Record<string, number | string | string[] | undefined>
  /** Answers with an error in the usual way */
  send(error: unknown): unknown
  /** From now on the answer is written to `raw` alone */
  hijack(): unknown
}

/** Who asks, and who counts an exchange once it has ended. */
export interface CallerSide {
  request: CallerRequest
  reply: CallerReply
  account(exchange: Exchange): void
}

/**
 * One request's way to an engine and back. A class, because every request makes one: its methods are shared, where a record of
 * closures would be made anew a dozen times.
 */
export class Exchange implements AnswerHandler, Entrant {
  readonly application: ExchangeDeps
  readonly path: InferencePath
  readonly side: CallerSide
  readonly asked: InferenceRequest
  readonly targets: readonly EngineTarget[]
  readonly userId: number
  readonly answer: Answer
  refusedBy: ReadonlySet<string> = noneRefused
  target: EngineTarget | null = null
  call: EngineCall | null = null
  /** It has a place among the requests under way */
  entered = false
  retried = false
  /** The engine has refused the authorization, which is renewed once */
  unauthorized = false
  renewed = false
  /** The caller's connection has ended, or his answer has */
  closed = false
  usage: TokenUsage | null = null
  span: RequestSpan | null = null
  /** Who broke the answer off, if anybody did */
  brokenBy: 'caller' | 'engine' | null = null
  readonly receivedAt: number
  /** When a place was asked for */
  askedAt = 0
  /** When a place was free for it */
  enteredAt = 0
  dispatchedAt = 0
  firstByteAt = 0
  endedAt = 0

  constructor(
    application: ExchangeDeps,
    path: InferencePath,
    side: CallerSide,
    asked: InferenceRequest,
    targets: readonly EngineTarget[],
    receivedAt: number,
  ) {
    this.receivedAt = receivedAt
    this.application = application
    this.path = path
    this.side = side
    this.asked = asked
    this.targets = targets
    this.userId = side.request.viewer.userId
    this.answer = new Answer(this, side.reply)
    side.request.accountedFor = true
  }

  begin(): void {
    this.askedAt = performance.now()
    const { traces, admission } = this.application.engines
    if (traces !== null) {
      const traceparent = this.side.request.headers['traceparent']
      const parent = typeof traceparent === 'string' ? traceparent : undefined
      this.span = traces.begin(this.path, this.targets[0]!.modelName, parent)
    }
    admission.request(this)
  }

  enter(target: EngineTarget): void {
    this.entered = true
    this.target = target
    this.enteredAt = performance.now()
    this.send(target)
  }

  refuse(error: Error): void {
    if (!this.closed) void this.side.reply.send(error)
  }

  send(target: EngineTarget): void {
    const { engines } = this.application
    engines.health.tries(target.deploymentId)
    this.dispatchedAt = performance.now()
    this.call = engines.clients.send(
      target.origin,
      {
        path: target.basePath === '' ? this.path : target.basePath + this.path,
        streams: this.asked.stream,
        requestId: this.side.request.id,
        authorization: target.authorization,
        traceparent: this.span === null ? null : this.span.traceparent,
        body: writeEngineBody(this.asked, target.modelUid),
      },
      this,
    )
  }

  onHead(head: AnswerHead): Buffer | null {
    this.unauthorized = head.status === 401 && this.application.runtime.authorizeEngine !== undefined
    if (this.unauthorized && !this.renewed) return null
    this.firstByteAt = performance.now()
    // Nothing is sent again from here on: a stream may be long, and the prompt with it.
    this.asked.body = ''
    const { health } = this.application.engines
    if (head.status < 500) health.succeeded(this.target!.deploymentId)
    else health.failed(this.target!.deploymentId)
    return this.answer.begin(head)
  }

  onBody(bytes: Buffer): void {
    if (!this.unauthorized) this.answer.take(bytes)
  }

  onEnd(): void {
    this.call = null
    if (this.unauthorized && !this.renewed) return void this.renewAuthorization(this.target!)
    this.leave()
    if (this.unauthorized)
      this.fail(new EngineFailure('broken', 'the engine accepts no authorization of ours'))
    else this.answer.end()
  }

  /** The engine wants another authorization than it was sent; everything else is sent again as it was. */
  async renewAuthorization(target: EngineTarget): Promise<void> {
    this.renewed = true
    const { runtime } = this.application
    try {
      target.authorization = await runtime.authorizeEngine!(target.engineUrl ?? '', target.authorization)
    } catch (error) {
      this.leave()
      if (!this.closed) this.fail(error)
      return
    }
    if (!this.closed) this.send(target)
  }

  onFailure(failure: EngineFailure): void {
    this.call = null
    const target = this.target!
    // A connection that had been idle may have been closed while the request was on its way.
    if (failure.kind === 'stale' && !this.retried) {
      this.retried = true
      return this.send(target)
    }
    this.application.engines.health.failed(target.deploymentId)
    this.reportSilence(target)
    if (failure.kind === 'refused' && this.sendElsewhere(target)) return
    this.leave()
    this.fail(failure)
  }

  /** Tries another deployment after one has refused the connection; false where none is left. */
  sendElsewhere({ deploymentId }: EngineTarget): boolean {
    const { admission } = this.application.engines
    this.refusedBy = new Set([...this.refusedBy, deploymentId])
    const next = admission.choose(this)
    if (next === null) return false
    admission.move(deploymentId, next.deploymentId)
    this.target = next
    this.send(next)
    return true
  }

  /** Gives the place up that the request has. */
  leave(): void {
    if (!this.entered) return
    this.entered = false
    this.application.engines.admission.leave(this.userId, this.target!.deploymentId)
  }

  /** The engine has ended before its answer: the caller gets an error, or sees that more was to come. */
  fail(error: unknown): void {
    if (this.closed) return
    this.brokenBy = 'engine'
    const { request, reply } = this.side
    if (!reply.raw.headersSent) return void reply.send(toUpstreamError(error))
    request.log.warn({ err: error, deployment: this.target!.deploymentId }, 'the engine broke off')
    this.answer.breakOff()
  }

  /** Has a worker look at the engine soon; requests that fail together wake it once. */
  reportSilence(target: EngineTarget): void {
    reportUnresponsiveEngine(this.application, target).catch((error: unknown) =>
      this.side.request.log.warn(
        { err: error, deployment: target.deploymentId },
        'a silent engine could not be reported',
      ),
    )
  }

  /** Counts what was used, once. */
  record(usage: TokenUsage | null): void {
    const { target } = this
    if (target === null || this.usage !== null) return
    if (usage === null) {
      const { log } = this.side.request
      return log.warn({ deployment: target.deploymentId }, 'the engine reported no usage')
    }
    this.usage = usage
    this.application.tokens.record(target, usage)
  }

  /** The caller's connection has ended: his answer is complete, or he has left. */
  close(): void {
    if (this.closed) return
    this.closed = true
    this.endedAt = performance.now()
    if (this.target === null) this.application.engines.admission.cancel(this)
    if (!this.side.reply.raw.writableFinished) this.brokenBy ??= 'caller'
    this.answer.close()
    this.call?.abort()
    this.call = null
    this.leave()
    this.side.account(this)
  }

  /** What the caller was told; 499 where he left before. */
  sentStatus(): number {
    const { raw } = this.side.reply
    return raw.headersSent ? raw.statusCode : 499
  }

  /** Milliseconds that the gateway itself took; see the metric. */
  overhead(): number {
    const { passedAt, wholeAt } = this.answer
    const before = this.askedAt - this.receivedAt + (this.dispatchedAt - this.enteredAt)
    return before + passedAt - (wholeAt > 0 ? wholeAt : this.firstByteAt)
  }
}

const noneRefused: ReadonlySet<string> = new Set()
