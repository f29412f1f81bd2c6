import { ResponseStream } from '../../../gateway/response-stream.ts'
import type { ResponseHead } from '../../../gateway/upstream-client/upstream.ts'
import type { BatchedWrite } from '../../../gateway/write-batch.ts'
import { writeResponseHead } from '../arrival/caller.ts'
import type { ErrorFacts } from '../protocols/protocol.ts'
import type { BodyMeter, RelayDeps, RelayOwner, ResponseRelay } from './response-relay.ts'

/** Forwards an event stream, or a JSON body that is too long to buffer, as it arrives. */
export class StreamRelay implements ResponseRelay, BatchedWrite {
  readonly #deps: RelayDeps
  readonly #owner: RelayOwner
  readonly #out: ResponseStream
  readonly #streams: boolean
  #isScheduled = false
  #isClosed = false
  readonly meter: BodyMeter
  readonly buffer = null
  readonly completeAt = 0
  readonly forwardedAt: number

  /** `streams` is true for an event stream. */
  constructor(deps: RelayDeps, owner: RelayOwner, head: ResponseHead, meter: BodyMeter, streams: boolean) {
    this.#deps = deps
    this.#owner = owner
    this.meter = meter
    this.#streams = streams
    const { reply } = owner.arrival.caller
    writeResponseHead(reply, head, streams ? null : head.length, streams)
    this.forwardedAt = performance.now()
    this.#out = new ResponseStream(reply.raw, owner.flow)
    this.#schedule()
  }

  take(bytes: Buffer): this {
    const text = this.meter.take(bytes.toString('latin1'))
    if (text !== '') {
      this.#out.push(text)
      this.#schedule()
    }
    return this
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#deps.inference.writeBatch.defer(this)
  }

  end(): void {
    this.#out.push(this.meter.finish())
    this.#owner.recordUsage(this.meter.usage())
    if (this.meter.isBroken === true) this.#owner.onIncomplete()
    this.#out.end()
    this.#schedule()
  }

  flush(): void {
    this.#isScheduled = false
    if (this.#isClosed) return
    // The journal must survive a crash before the caller has the response.
    this.#deps.tokens.write()
    try {
      this.#out.flush()
    } catch (error) {
      this.#owner.fail(error, 'engine')
    }
  }

  truncate(): void {
    this.#out.truncate()
  }

  endWith(error: ErrorFacts): void {
    if (!this.#streams) return this.truncate()
    this.#out.push(this.meter.finish(error))
    this.#out.end()
    this.#schedule()
  }

  close(): void {
    this.#isClosed = true
    this.#out.discard()
  }
}
