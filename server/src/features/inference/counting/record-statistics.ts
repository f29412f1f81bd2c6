import type { StatisticsRecorder } from '../../statistics/recorder.ts'
import type { FinishedExchange } from './finished-exchange.ts'

/** Counts an ended exchange in the statistics of its deployment, unless it never reached one. */
export function recordStatistics(statistics: StatisticsRecorder, exchange: FinishedExchange): void {
  const { deploymentId, usage, receivedAt, firstByteAt } = exchange
  if (deploymentId === null) return
  statistics.record(deploymentId, {
    userId: exchange.userId,
    waitedMilliseconds: exchange.waitedMilliseconds,
    failed: exchange.brokenBy === 'engine' || exchange.status >= 500,
    firstByteMilliseconds: firstByteAt > 0 ? firstByteAt - receivedAt : null,
    durationMilliseconds: exchange.endedAt - receivedAt,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
  })
}
