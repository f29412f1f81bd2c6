import type { TokenUsage } from '../metering/record-tokens.ts'

export type InferencePath = '/v1/chat/completions' | '/v1/embeddings'

/** An ended request, for the access log, metrics, statistics and traces. Times are on the clock of `performance.now()`. */
export interface FinishedExchange {
  readonly path: InferencePath
  readonly requestId: string
  readonly userId: number
  readonly modelName: string
  readonly streams: boolean
  /** null when the request was not sent to any deployment */
  readonly deploymentId: string | null
  /** Status that the caller received, or 499 if the caller left before */
  readonly status: number
  /** Which side ended the exchange early; null when it is complete */
  readonly brokenBy: 'caller' | 'engine' | null
  /** null when none was metered */
  readonly usage: TokenUsage | null
  readonly receivedAt: number
  /** 0 when the engine sent nothing */
  readonly firstByteAt: number
  readonly endedAt: number
  /** Milliseconds that the gateway added, without time in the queue; null when no response was forwarded */
  readonly overheadMilliseconds: number | null
}
