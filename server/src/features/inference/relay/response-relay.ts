import type { BufferPool } from '../../../gateway/buffer-pool.ts'
import type { FlowControl } from '../../../gateway/response-stream.ts'
import type { WriteBatch } from '../../../gateway/write-batch.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { TokenJournal } from '../../metering/token-journal.ts'
import type { Arrival } from '../arrival/caller.ts'
import type { ErrorFacts } from '../protocols/protocol.ts'
import type { EngineTarget } from '../targets/targets.ts'

/** Forwards the response of an engine to the caller. */
export interface ResponseRelay {
  /** Where the client should read a body of known length to; null to hand over the pieces */
  readonly buffer: Buffer | null
  /** When the response was complete, by `performance.now()`; 0 when it is forwarded before that */
  readonly completeAt: number
  /** When the head was handed to the caller's connection; 0 until then */
  readonly forwardedAt: number
  /** Reads the response of a stream; null for other responses */
  readonly meter: BodyMeter | null
  /** Takes the next bytes and returns the relay for the bytes after them. */
  take(bytes: Buffer): ResponseRelay
  /** The engine's response is complete. */
  end(): void
  /** The engine broke off after the head. The caller gets what has arrived and sees the truncation. */
  truncate(): void
  /** Ends a stream of events with this error. Truncates other responses. */
  endWith(error: ErrorFacts): void
  /** The caller's connection or the response has ended. */
  close(): void
}

/** Reads the token usage of a response body that is being forwarded. Texts have one character per byte. */
export interface BodyMeter {
  /** Takes bytes and returns those to forward. Throws if metering would need unbounded memory. */
  take(bytes: string): string
  /** Returns the remaining bytes to forward at the end of the body, with `error` if that cuts the answer. */
  finish(error?: ErrorFacts): string
  /** True if a stream ended before its answer was complete, and has an error for that; absent for others */
  readonly isBroken?: boolean
  /** Usage of a complete body; null when the engine reported none */
  usage(): TokenUsage | null
  /** Usage of a truncated body; null when it is unknown */
  partialUsage(): TokenUsage | null
}

export interface RelayDeps {
  inference: { buffers: BufferPool; writeBatch: WriteBatch }
  tokens: Pick<TokenJournal, 'write'>
}

/** The exchange that a relay belongs to. */
export interface RelayOwner {
  readonly arrival: Arrival
  /** Where the response comes from */
  readonly target: EngineTarget
  /** Of the engine's response; null when it is complete */
  readonly flow: FlowControl | null
  /** Meters the request; null when the engine reported no usage. */
  recordUsage(usage: TokenUsage | null): void
  /** The engine no longer has the model; no response was sent. */
  onModelLost(): void
  /** The engine ended its response before the answer was complete. The caller gets an error. */
  onIncomplete(): void
  /** The response can't be completed, because writing to the caller threw. */
  fail(error: unknown, brokenBy: 'engine'): void
}
