import type { TokenUsage } from '../../metering/token-usage.ts'
import type { Protocol } from '../protocols/protocol.ts'
import type { StatisticsRecorder } from '../../statistics/recorder.ts'

/** The caller left, the engine failed, the caller lost access (`gateway`), or the server stopped */
export type BrokenBy = 'caller' | 'engine' | 'gateway' | 'shutdown'

/** An ended request, for logs, metrics, statistics and traces. Times are by `performance.now()`. */
export interface FinishedExchange {
  readonly protocol: Protocol
  readonly requestId: string
  readonly userId: number
  readonly modelName: string
  readonly streams: boolean
  /** Earlier attempts of the client library */
  readonly retry: number
  /** null when the request was not sent to any deployment */
  readonly deploymentId: string | null
  /** Status that the caller received, or 499 if the caller left before */
  readonly status: number
  /** null when the exchange is complete */
  readonly brokenBy: BrokenBy | null
  /** null when none was metered */
  readonly usage: TokenUsage | null
  readonly receivedAt: number
  /** Time in the queue */
  readonly waitedMilliseconds: number
  /** 0 when the engine sent nothing */
  readonly firstByteAt: number
  readonly endedAt: number
  /** Milliseconds that the gateway added, without time in the queue; null when no response was forwarded */
  readonly overheadMilliseconds: number | null
}

/** Counts an ended exchange in the statistics of its deployment, unless it never reached one. */
export function recordStatistics(statistics: StatisticsRecorder, exchange: FinishedExchange): void {
  const { deploymentId, usage, receivedAt, firstByteAt } = exchange
  if (deploymentId === null) return
  statistics.record(deploymentId, {
    userId: exchange.userId,
    waitedMilliseconds: exchange.waitedMilliseconds,
    status: exchange.brokenBy === 'engine' && exchange.status < 500 ? 502 : exchange.status,
    callerLeft: exchange.brokenBy === 'caller',
    isRetry: exchange.retry > 0,
    firstByteMilliseconds: firstByteAt > 0 ? firstByteAt - receivedAt : null,
    durationMilliseconds: exchange.endedAt - receivedAt,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
  })
}

/** A log line's members: JSON without braces, by hand because each request has one. No content. */
export function toLogMembers(exchange: FinishedExchange): string {
  const { usage, firstByteAt, receivedAt, endedAt } = exchange
  return (
    `"reqId":"${exchange.requestId}","method":"POST","route":"${exchange.protocol.path}","status":${exchange.status},` +
    `"ms":${Math.round(endedAt - receivedAt)},` +
    `"first_byte_ms":${firstByteAt > 0 ? Math.round(firstByteAt - receivedAt) : null},"user":${exchange.userId},` +
    `"deployment":${quote(exchange.deploymentId)},"model":${JSON.stringify(exchange.modelName)},` +
    `"stream":${exchange.streams},"input_tokens":${usage === null ? null : usage.inputTokens},` +
    `"output_tokens":${usage === null ? null : usage.outputTokens},"broken_by":${quote(exchange.brokenBy)}`
  )
}

/** The JSON of a text that needs no escapes, or of null. */
function quote(text: string | null): string {
  return text === null ? 'null' : `"${text}"`
}
