import type { KeyObject } from 'node:crypto'
import type { BufferPool } from '../../../gateway/buffer-pool.ts'
import type { CircuitBreakers } from '../../../gateway/circuit-breakers.ts'
import type { UpstreamClient } from '../../../gateway/upstream-client/upstream.ts'
import type { TimeSlices } from '../../../gateway/time-slices.ts'
import type { WriteBatch } from '../../../gateway/write-batch.ts'
import type { MemberCache } from '../../deployments/serving/named-member.ts'
import type { StatisticsRecorder } from '../../statistics/recorder.ts'
import type { AbortedRequests } from '../counting/aborted-requests.ts'
import type { EngineTotals } from '../counting/engine-totals.ts'
import type { Traces } from '../counting/traces.ts'
import type { TargetCache } from '../targets/targets.ts'
import type { Admission } from '../waiting/admission.ts'
import type { ReadonlyCounts } from '../waiting/counts.ts'
import type { Waking } from '../waiting/waking.ts'
import type { OpenRequests } from './revoke-access.ts'

/** The state that the inference routes share between requests. */
export interface Inference {
  client: UpstreamClient
  /** For engines that others run, whose addresses are checked */
  outside: UpstreamClient
  buffers: BufferPool
  writeBatch: WriteBatch
  /** For long request bodies */
  slices: TimeSlices
  /** By instance id */
  breakers: CircuitBreakers
  admission: Admission
  /** For `hashOpening`; null if conversations are spread as other requests */
  prefixKey: KeyObject | null
  targets: TargetCache
  /** Whom programs name */
  members: MemberCache
  /** Requests that wait for sleeping deployments */
  waking: Waking
  openRequests: OpenRequests
  abortedRequests: AbortedRequests
  engineTotals: EngineTotals
  statistics: StatisticsRecorder
  /** null when no collector is configured */
  traces: Traces | null
  /** Requests in flight by deployment id */
  inFlight: ReadonlyCounts
  close(): Promise<void>
}
