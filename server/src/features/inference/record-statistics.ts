import type { StatisticsRecorder } from '../statistics/recorder.ts'
import type { Exchange } from './exchange.ts'

/** Counts an exchange that has ended in the statistics of its deployment, if it came as far as that. */
export function recordStatistics(statistics: StatisticsRecorder, exchange: Exchange): void {
  const { target, brokenBy, usage, receivedAt, firstByteAt } = exchange
  if (target === null) return
  statistics.record(target.deploymentId, {
    failed: brokenBy === 'engine' || exchange.sentStatus() >= 500,
    firstByteMilliseconds: firstByteAt > 0 ? firstByteAt - receivedAt : null,
    durationMilliseconds: exchange.endedAt - receivedAt,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
  })
}
