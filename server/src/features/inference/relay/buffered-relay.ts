import { copyText } from '../../../base/copy-text.ts'
import { InvalidResponse } from '../../../base/invalid-response.ts'
import { truncateResponse } from '../../../gateway/response-stream.ts'
import type { ResponseHead } from '../../../gateway/upstream-client/upstream.ts'
import type { BatchedWrite } from '../../../gateway/write-batch.ts'
import { userIdOf } from '../../deployments/serving/asker.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import { writeResponseHead } from '../arrival/caller.ts'
import type { Arrival } from '../arrival/caller.ts'
import type { BodyCheck, BodyFormat, BodyRewriter } from '../protocols/protocol.ts'
import { writeErrorEvent } from '../protocols/sse-events.ts'
import { edgeLength, readEdgeUsage, readUsage } from '../protocols/usage.ts'
import { toInvalidResponse } from '../targets/gateway-errors.ts'
import { DocumentTranslation, StreamTranslation } from './answer-translation.ts'
import { EndGuard } from './end-guard.ts'
import { HidingMeter, hideCachedTokens } from './hide-cached-tokens.ts'
import { hideKey } from './hide-key.ts'
import { translateEngineError } from './engine-errors.ts'
import type { RelayDeps, RelayOwner, ResponseRelay, BodyMeter } from './response-relay.ts'
import { openStreamMeter } from './stream-meter.ts'
import { StreamRelay } from './stream-relay.ts'

/** When to repeat a request that an engine had no room for, unless the engine says so */
const overloadRetrySeconds = '5'
/** Responses up to this size are sent as one string together with their heads. */
const maxTextBytes = 16 * 1024

/** Checks a long JSON body, and meters it by its first and last bytes: some engines report usage first. */
class EdgeMeter implements BodyMeter {
  readonly #format: BodyFormat
  readonly #check: BodyCheck | null
  readonly #rewriter: BodyRewriter | null
  #start = ''
  #end = ''

  constructor(format: BodyFormat, check: BodyCheck | null, rewriter: BodyRewriter | null) {
    this.#format = format
    this.#check = check
    this.#rewriter = rewriter
  }

  take(bytes: string): string {
    this.#check?.take(Buffer.from(bytes, 'latin1'))
    return this.#keepEdges(this.#rewriter === null ? bytes : this.#rewriter.take(bytes))
  }

  finish(): string {
    this.#check?.finish()
    return this.#rewriter === null ? '' : this.#keepEdges(this.#rewriter.finish())
  }

  #keepEdges(bytes: string): string {
    // Copies, because a slice would keep all of `bytes` in memory.
    if (this.#start === '') this.#start = copyText(bytes.slice(0, edgeLength))
    this.#end = copyText((bytes.length < edgeLength ? this.#end + bytes : bytes).slice(-edgeLength))
    return bytes
  }

  usage(): TokenUsage | null {
    return readEdgeUsage(this.#end, this.#format) ?? readEdgeUsage(this.#start, this.#format)
  }

  partialUsage(): null {
    return null
  }
}

/** Colleagues of the owner share the cached prompts, and must not learn what the others asked. */
export function hidesCache({ target, arrival }: Pick<RelayOwner, 'target' | 'arrival'>): boolean {
  if (target.sharedWith === null || target.cacheScope === 'member') return false
  return userIdOf(arrival.caller.asker) !== target.ownerId
}

/** Opens the relay for this head: one that streams events, or one that holds a document until its end. */
export function openRelay(deps: RelayDeps, owner: RelayOwner, head: ResponseHead): ResponseRelay {
  const meter = openStreamMeter(owner, head)
  if (meter === null) return new BufferedRelay(deps, owner, head)
  const { answers, protocol, request, caller } = owner.arrival
  const { end } = protocol.events!
  const guarded =
    end === undefined
      ? meter
      : new EndGuard(meter, end, { values: request.values, requestId: caller.request.id })
  const body = answers?.openEvents ? new StreamTranslation(guarded, answers.openEvents()) : guarded
  return new StreamRelay(deps, owner, head, hidesCache(owner) ? new HidingMeter(body) : body, true)
}

/** Holds a response until its end, so that a broken one becomes a 502. Streams one beyond the buffer. */
class BufferedRelay implements ResponseRelay, BatchedWrite {
  readonly #deps: RelayDeps
  readonly #owner: RelayOwner
  readonly #head: ResponseHead
  readonly #format: BodyFormat
  /** null for errors, and if the protocol checks nothing */
  readonly #check: BodyCheck | null
  /** null for errors, and if the protocol changes nothing */
  readonly #rewriter: BodyRewriter | null
  /** The complete body for the caller, once it was checked; null until then, and for errors */
  #checked: string | Buffer | null = null
  /** A short response that arrived in one piece, one character per byte */
  #text: string | null = null
  #buffer: Buffer | null = null
  /** Bytes in `#buffer` */
  #size = 0
  #completeAt = 0
  #forwardedAt = 0
  #isClosed = false
  readonly meter = null

  constructor(deps: RelayDeps, owner: RelayOwner, head: ResponseHead) {
    this.#deps = deps
    this.#owner = owner
    this.#head = head
    this.#format = owner.arrival.protocol.bodies
    const { arrival } = owner
    const isComplete = head.status === 200
    this.#check = isComplete ? (this.#format.openCheck?.(arrival.request.values) ?? null) : null
    this.#rewriter = isComplete ? openRewriter(arrival) : null
    const { buffers } = deps.inference
    if (head.length !== null && head.length > maxTextBytes && head.length < buffers.size) {
      this.#buffer = buffers.take()
    }
  }

  get buffer(): Buffer | null {
    return this.#buffer
  }

  get completeAt(): number {
    return this.#completeAt
  }

  get forwardedAt(): number {
    return this.#forwardedAt
  }

  take(bytes: Buffer): ResponseRelay {
    const { buffers } = this.#deps.inference
    if (bytes.length === this.#head.length && bytes.length <= maxTextBytes) {
      this.#text = bytes.toString('latin1')
    } else if (this.#size + bytes.length <= buffers.size) {
      this.#buffer ??= buffers.take()
      // The client may have read the bytes into the buffer.
      if (bytes.buffer !== this.#buffer.buffer) bytes.copy(this.#buffer, this.#size)
      this.#size += bytes.length
    } else return this.#switchToStream(bytes)
    return this
  }

  #switchToStream(bytes: Buffer): ResponseRelay {
    const { status } = this.#head
    if (status >= 400 && this.#owner.target.isOutside) {
      const tooLong = new InvalidResponse(
        `The endpoint responded with ${status} and a text that is too long.`,
      )
      this.#owner.fail(toInvalidResponse(tooLong), 'engine')
      return this
    }
    const hides = hidesCache(this.#owner)
    const length = this.#rewriter === null && !hides ? this.#head.length : null
    const edges = new EdgeMeter(this.#format, this.#check, this.#rewriter)
    const meter = hides ? new HidingMeter(edges) : edges
    const stream = new StreamRelay(this.#deps, this.#owner, { ...this.#head, length }, meter, false)
    if (this.#buffer !== null) stream.take(this.#buffer.subarray(0, this.#size))
    this.#releaseBuffer()
    return stream.take(bytes)
  }

  end(): void {
    this.#completeAt = performance.now()
    if (this.#head.status === 200) {
      try {
        this.#checked = this.#checkBody()
      } catch (error) {
        return this.#owner.fail(toInvalidResponse(error), 'engine')
      }
      this.#owner.recordUsage(this.#readUsage())
    }
    this.#deps.inference.writeBatch.flushOrDefer(this)
  }

  #readUsage() {
    const body = this.#body()
    const end =
      typeof body === 'string'
        ? body.slice(-edgeLength)
        : body.toString('latin1', Math.max(0, body.length - edgeLength))
    return readEdgeUsage(end, this.#format) ?? readUsage(parseJson(body), this.#format)
  }

  #body(): string | Buffer {
    if (this.#text !== null) return this.#text
    return this.#buffer === null ? '' : this.#buffer.subarray(0, this.#size)
  }

  /** Returns the body for the caller. Throws if it is invalid. */
  #checkBody(): string | Buffer {
    const body = this.#body()
    if (this.#check !== null) {
      this.#check.take(typeof body === 'string' ? Buffer.from(body, 'latin1') : body)
      this.#check.finish()
    }
    const hides = hidesCache(this.#owner)
    if (this.#rewriter === null && !hides) return body
    const text = body.toString('latin1')
    const rewritten = this.#rewriter === null ? text : this.#rewriter.take(text) + this.#rewriter.finish()
    return hides ? hideCachedTokens(rewritten) : rewritten
  }

  flush(): void {
    if (this.#isClosed) return
    // The journal must survive a crash before the caller has the response.
    this.#deps.tokens.write()
    try {
      if (this.#head.status >= 400) this.#sendError()
      else this.#send(this.#head, this.#checked ?? this.#body())
    } catch (error) {
      this.#owner.fail(error, 'engine')
    }
  }

  #sendError(): void {
    const head = this.#head
    const { arrival, target } = this.#owner
    const body = target.isOutside ? hideKey(this.#body(), target.authorization) : this.#body()
    const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body
    const translated = translateEngineError(target.runtime, head.status, bytes, {
      servedModelName: target.servedModelName,
      requestId: arrival.caller.request.id,
      protocol: arrival.protocol,
      paths: arrival.answers?.paths,
    })
    if (translated === 'model_lost') return this.#owner.onModelLost()
    const { status } = translated
    const headers = { ...head.headers }
    if (status === 429) headers['retry-after'] ??= overloadRetrySeconds
    if (translated.body === bytes) return this.#send({ ...head, headers }, body)
    headers['content-type'] = 'application/json'
    this.#send({ ...head, status, headers }, translated.body)
  }

  #send(head: ResponseHead, body: string | Buffer): void {
    const { reply } = this.#owner.arrival.caller
    // A stream that waited for its engine has begun already, so the document is its only event.
    const hasBegun = reply.raw.headersSent
    writeResponseHead(reply, head, body.length, false)
    this.#forwardedAt = performance.now()
    if (hasBegun) return void reply.raw.end(this.#toEvent(head.status, body))
    if (typeof body === 'string') reply.raw.end(body, 'latin1')
    else reply.raw.end(body)
  }

  #toEvent(status: number, body: string | Buffer): string {
    const text = typeof body === 'string' ? Buffer.from(body, 'latin1').toString() : body.toString()
    if (status < 400) return `data: ${text}\n\n`
    return writeErrorEvent(
      this.#owner.arrival.protocol.errors,
      parseJson(body) ?? { error: { message: text } },
    )
  }

  truncate(): void {
    truncateResponse(this.#owner.arrival.caller.reply.raw)
  }

  endWith(): void {
    this.truncate()
  }

  close(): void {
    this.#isClosed = true
    if (this.#owner.arrival.caller.reply.raw.writableFinished) return this.#releaseBuffer()
    // Not released, because the socket may still be reading from it.
    this.#buffer = null
  }

  #releaseBuffer(): void {
    if (this.#buffer !== null) this.#deps.inference.buffers.release(this.#buffer)
    this.#buffer = null
  }
}

function openRewriter({ answers, protocol, request }: Arrival): BodyRewriter | null {
  return answers === null ? protocol.bodies.openRewriter(request.values) : new DocumentTranslation(answers)
}

function parseJson(body: string | Buffer): unknown {
  try {
    return JSON.parse(typeof body === 'string' ? Buffer.from(body, 'latin1').toString() : body.toString())
  } catch {
    return null
  }
}
