import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import type { Application } from '../../application.ts'
import { ApplicationError } from '../../errors.ts'
import type { Viewer } from '../../viewer.ts'
import { reportSilentEngine } from '../deployments/serving.ts'
import type { TokenUsage } from '../metering/record-tokens.ts'
import type { Entrant } from './admission.ts'
import { toAnswerHeaders } from './answer-headers.ts'
import { encodeEmbeddings } from './base64-embeddings.ts'
import type { EngineConnection } from './engine-clients.ts'
import { readEngineError } from './engine-errors.ts'
import { writeEngineBody } from './request-body.ts'
import type { InferenceRequest } from './request-body.ts'
import { meterStream } from './stream-meter.ts'
import type { StreamMeter } from './stream-meter.ts'
import type { EngineTarget } from './targets.ts'
import type { RequestSpan } from './traces.ts'
import { isRefused, isReset, toUpstreamError } from './upstream-errors.ts'
import { readTailUsage, readUsage, tailBytes } from './usage.ts'

export type InferencePath = '/v1/chat/completions' | '/v1/embeddings'

/** Whole answers up to this many bytes are sent when they are there: until then a broken one can still become a 502. */
const heldBytes = 256 * 1024
/** Answers that must be rewritten may be as long as this. */
const rewrittenBytes = 128 * 1024 * 1024
/** Bytes that may wait for a slow caller before the engine is paused. */
const waitingBytes = 64 * 1024

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

/** How the body of an answer reaches the caller. */
type Passage =
  /** Held until it is whole */
  | 'held'
  /** Held until it is whole, and rewritten */
  | 'rewritten'
  /** Piece by piece, because it is long */
  | 'passed'
  /** Event by event */
  | 'streamed'

/**
 * One request's way to an engine and back. A class, because it is undici's handler and every request makes one: its methods are
 * shared, where a record of closures would be made anew a dozen times.
 */
export class Exchange implements Dispatcher.DispatchHandler, Entrant {
  readonly application: Application
  readonly path: InferencePath
  readonly side: CallerSide
  readonly request: CallerRequest
  readonly reply: CallerReply
  readonly raw: ServerResponse
  readonly asked: InferenceRequest
  readonly targets: readonly EngineTarget[]
  readonly userId: number
  refusedBy: ReadonlySet<string> = noneRefused
  target: EngineTarget | null = null
  connection: EngineConnection | null = null
  controller: Dispatcher.DispatchController | null = null
  /** The head of an answer has come; nothing is tried again from then on */
  answered = false
  retried = false
  /** The engine has refused the authorization, which is renewed once */
  unauthorized = false
  renewed = false
  /** The caller's connection has ended, or his answer has */
  closed = false
  passage: Passage = 'held'
  status = 0
  headers: IncomingHttpHeaders = {}
  pieces: Buffer[] = []
  size = 0
  flushing = false
  tail: Buffer | null = null
  meter: StreamMeter | null = null
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
  /** When the engine’s answer, where it is held, was whole */
  wholeAt = 0
  firstByteAt = 0
  passedAt = 0

  constructor(
    application: Application,
    path: InferencePath,
    side: CallerSide,
    asked: InferenceRequest,
    targets: readonly EngineTarget[],
    receivedAt: number,
  ) {
    this.receivedAt = receivedAt
    this.application = application
    this.path = path
    const { request, reply } = side
    this.side = side
    this.request = request
    this.reply = reply
    this.raw = reply.raw
    this.asked = asked
    this.targets = targets
    this.userId = request.viewer.userId
    request.accountedFor = true
  }

  begin(): void {
    this.askedAt = performance.now()
    const { traces, admission } = this.application.engines
    if (traces !== null) {
      const traceparent = this.request.headers['traceparent']
      const parent = typeof traceparent === 'string' ? traceparent : undefined
      this.span = traces.begin(this.path, this.targets[0]!.modelName, parent)
    }
    admission.request(this)
  }

  enter(target: EngineTarget): void {
    this.target = target
    this.enteredAt = performance.now()
    this.send(target)
  }

  refuse(error: Error): void {
    if (!this.closed) void this.reply.send(error)
  }

  send(target: EngineTarget): void {
    const { engines } = this.application
    engines.health.tries(target.deploymentId)
    const connection = engines.clients.take(target.origin)
    this.connection = connection
    this.controller = null
    this.dispatchedAt = performance.now()
    const body = writeEngineBody(this.asked, target.modelUid)
    const headers = [
      'content-type',
      'application/json',
      'accept',
      this.asked.stream ? 'text/event-stream' : 'application/json',
      'x-request-id',
      this.request.id,
    ]
    if (target.authorization !== null) headers.push('authorization', target.authorization)
    if (this.span !== null) headers.push('traceparent', this.span.traceparent)
    if (Array.isArray(body)) headers.push('content-length', String(lengthOf(body)))
    const path = target.basePath === '' ? this.path : target.basePath + this.path
    connection.client.dispatch({ path, method: 'POST', headers, body: body as Buffer, reset: false }, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.closed) controller.abort(callerLeft)
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200 || this.closed) return
    this.unauthorized = status === 401 && this.application.runtime.authorizeEngine !== undefined
    if (this.unauthorized && !this.renewed) return
    this.firstByteAt = performance.now()
    this.answered = true
    // Nothing is sent again: a stream may be long, and the prompt with it.
    this.asked.body = nothing
    this.status = status
    this.headers = headers
    const { health } = this.application.engines
    if (status < 500) health.succeeded(this.target!.deploymentId)
    else health.failed(this.target!.deploymentId)
    if (headers['content-type']?.startsWith('text/event-stream')) {
      this.passage = 'streamed'
      this.meter = meterStream(!this.asked.includesUsage)
      this.writeHead(null)
      this.scheduleFlush()
    } else if (status === 200 && this.asked.wantsBase64) {
      this.passage = 'rewritten'
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.closed || this.unauthorized) return
    this.pieces.push(bytes)
    this.size += bytes.length
    if (this.passage === 'held' && this.size > heldBytes) {
      this.passage = 'passed'
      this.writeHead(readLength(this.headers))
    }
    if (this.passage === 'passed' || this.passage === 'streamed') this.scheduleFlush()
    else if (this.size > rewrittenBytes) throw new Error('the engine’s answer is too long to be rewritten')
  }

  onResponseEnd(): void {
    const connection = this.connection!
    this.connection = null
    this.application.engines.clients.give(connection)
    if (this.unauthorized && !this.renewed && !this.closed) return void this.renewAuthorization(this.target!)
    if (!this.closed) this.endAnswer()
    this.leave()
  }

  /** The engine wants another authorization than it was sent; everything else is sent again as it was. */
  async renewAuthorization(target: EngineTarget): Promise<void> {
    this.renewed = true
    this.controller = null
    const { runtime } = this.application
    try {
      target.authorization = await runtime.authorizeEngine!(target.engineUrl ?? '', target.authorization)
    } catch (error) {
      this.leave()
      if (!this.closed) this.fail(error)
      return
    }
    if (this.closed) this.leave()
    else this.send(target)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const connection = this.connection!
    this.connection = null
    this.application.engines.clients.discard(connection)
    if (this.closed) return this.leave()
    const target = this.target!
    // A connection that had been idle may have been closed while the request was on its way.
    if (!this.answered && !this.retried && connection.used && isReset(error)) {
      this.retried = true
      return this.send(target)
    }
    this.application.engines.health.failed(target.deploymentId)
    reportSilent(this, target)
    if (!this.answered && isRefused(error) && this.sendElsewhere(target)) return
    this.leave()
    this.fail(error)
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

  /** Gives the place up that the request had. */
  leave(): void {
    this.application.engines.admission.leave(this.userId, this.target!.deploymentId)
  }

  fail(error: unknown): void {
    this.brokenBy = 'engine'
    if (!this.raw.headersSent) return void this.reply.send(toUpstreamError(error))
    this.flush()
    if (this.meter !== null) this.record(this.meter.usage())
    this.request.log.warn({ err: error, deployment: this.target!.deploymentId }, 'the engine broke off')
    // What is written still goes out; without the end that the protocol asks for the caller sees that more was to come.
    this.raw.socket?.destroySoon()
  }

  writeHead(length: number | null): void {
    const streams = this.passage === 'streamed'
    this.raw.writeHead(
      this.status,
      toAnswerHeaders(this.reply.getHeaders(), this.headers, { length, streams }),
    )
    // From here on the answer is ours; before, an error could still be answered in the usual way.
    this.reply.hijack()
    this.passedAt = performance.now()
  }

  /** Once for all that one read of the engine's connection brings. */
  scheduleFlush(): void {
    if (this.flushing) return
    this.flushing = true
    process.nextTick(flushScheduled, this)
  }

  flush(): void {
    this.flushing = false
    if (this.closed) return
    const bytes = concat(this.pieces)
    this.pieces = []
    let passing = bytes
    if (this.meter !== null) passing = this.meter.take(bytes)
    else this.tail = lastBytes(this.tail, bytes)
    if (passing.length > 0) this.write(passing)
    else this.raw.flushHeaders()
  }

  write(bytes: Buffer): void {
    if (this.raw.write(bytes) || this.raw.writableLength < waitingBytes) return
    const { raw, controller } = this
    if (controller === null || controller.paused) return
    controller.pause()
    limitStall(this)
    raw.once('drain', () => {
      raw.socket?.setTimeout(0)
      controller.resume()
    })
  }

  endAnswer(): void {
    if (this.passage === 'held' || this.passage === 'rewritten') return this.endWhole()
    try {
      this.flush()
      const last = this.meter?.finish()
      if (last !== undefined && last.length > 0) this.raw.write(last)
    } catch (error) {
      return this.fail(error)
    }
    this.record(this.meter === null ? readTailUsage(this.tail ?? nothing) : this.meter.usage())
    this.raw.end()
    if (this.raw.writableLength > 0) limitStall(this)
  }

  endWhole(): void {
    this.wholeAt = performance.now()
    let bytes = concat(this.pieces)
    this.pieces = []
    if (this.status === 200) {
      const parsed = this.passage === 'rewritten' ? parse(bytes) : null
      const encoded = parsed === null ? null : encodeEmbeddings(parsed)
      const tail = bytes.length > tailBytes ? bytes.subarray(-tailBytes) : bytes
      this.record(readTailUsage(tail) ?? readUsage(parsed ?? parse(bytes)))
      if (encoded !== null) bytes = Buffer.from(JSON.stringify(encoded))
    } else if (this.status >= 400) {
      const told = this.unauthorized ? null : readEngineError(this.status, bytes, this.target!.modelUid)
      if (told === null) return this.fail(new Error('the engine accepts no authorization of ours'))
      if (told === 'gone') return this.failGone(this.target!)
      if (told !== bytes) this.headers = { ...this.headers, 'content-type': 'application/json' }
      bytes = told
    }
    try {
      this.writeHead(bytes.length)
    } catch (error) {
      return this.fail(error)
    }
    // A short text goes out in one piece with its head.
    if (bytes.length <= 8192) this.raw.end(bytes.toString('latin1'), 'latin1')
    else this.raw.end(bytes)
    if (this.raw.writableLength > 0) limitStall(this)
  }

  /** The engine is there and the model is not: a worker starts it again. */
  failGone(target: EngineTarget): void {
    reportSilent(this, target)
    const message = `The deployment of ${target.modelName} is being started again.`
    void this.reply.send(
      new ApplicationError('unavailable', 'deployment_not_ready', message, notReadySeconds),
    )
  }

  record(usage: TokenUsage | null): void {
    const { target, request } = this
    if (target === null || this.usage !== null) return
    if (usage === null) {
      request.log.warn({ deployment: target.deploymentId }, 'the engine reported no usage')
      return
    }
    this.usage = usage
    this.application.tokens.record(target, usage)
  }

  /** The caller's connection has ended: his answer is complete, or he has left. */
  close(): void {
    if (this.closed) return
    this.closed = true
    this.end()
    this.account()
  }

  /** Milliseconds that the gateway itself took; see the metric. */
  overhead(): number {
    const before = this.askedAt - this.receivedAt + (this.dispatchedAt - this.enteredAt)
    return before + this.passedAt - (this.wholeAt > 0 ? this.wholeAt : this.firstByteAt)
  }

  /** What the caller was told; 499 where he left before. */
  sentStatus(): number {
    return this.raw.headersSent ? this.raw.statusCode : 499
  }

  /** One line, without a word of what was asked or answered. */
  account(): void {
    const { request, target, usage } = this
    this.side.account(this)
    this.span?.end(this)
    request.log.info(
      {
        method: 'POST',
        route: this.path,
        status: this.sentStatus(),
        ms: Math.round(performance.now() - this.receivedAt),
        first_byte_ms: this.firstByteAt > 0 ? Math.round(this.firstByteAt - this.receivedAt) : null,
        user: this.userId,
        deployment: target?.deploymentId ?? null,
        model: this.targets[0]!.modelName,
        stream: this.asked.stream,
        input_tokens: usage?.inputTokens ?? null,
        output_tokens: usage?.outputTokens ?? null,
        broken_by: this.brokenBy,
      },
      'request',
    )
  }

  end(): void {
    if (this.target === null) {
      this.application.engines.admission.cancel(this)
      if (!this.raw.writableFinished) this.brokenBy = 'caller'
      return
    }
    if (this.raw.writableFinished) return
    this.brokenBy ??= 'caller'
    if (this.meter !== null) this.record(this.meter.usage())
    this.pieces = []
    this.controller?.abort(callerLeft)
  }
}

const noneRefused: ReadonlySet<string> = new Set()
const nothing = Buffer.alloc(0)
const notReadySeconds = 5
const callerLeft = new Error('the caller has left')

function flushScheduled(exchange: Exchange): void {
  // The end of the answer may have flushed it before.
  if (!exchange.flushing || exchange.closed) return
  try {
    exchange.flush()
  } catch (error) {
    exchange.controller?.abort(error as Error)
  }
}

/** Ends the connection of a caller who takes nothing for as long as an engine may be silent. */
function limitStall({ raw, application }: Exchange): void {
  raw.socket?.setTimeout(application.engines.timeouts.idle)
}

/** Told once a second at most, because a worker looks at it then. */
function reportSilent({ application, request }: Exchange, target: EngineTarget): void {
  reportSilentEngine(application, target).catch((error: unknown) =>
    request.log.warn(
      { err: error, deployment: target.deploymentId },
      'a silent engine could not be reported',
    ),
  )
}

function concat(pieces: Buffer[]): Buffer {
  if (pieces.length === 1) return pieces[0]!
  return pieces.length === 0 ? nothing : Buffer.concat(pieces)
}

function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0)
}

function lastBytes(before: Buffer | null, bytes: Buffer): Buffer {
  if (bytes.length >= tailBytes || before === null) return Buffer.from(bytes.subarray(-tailBytes))
  return Buffer.from(Buffer.concat([before, bytes]).subarray(-tailBytes))
}

function readLength(headers: IncomingHttpHeaders): number | null {
  const length = headers['content-length']
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : null
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return null
  }
}
