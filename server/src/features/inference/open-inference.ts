import type { KeyObject } from 'node:crypto'
import { createBufferPool } from '../../gateway/buffer-pool.ts'
import type { BufferPool } from '../../gateway/buffer-pool.ts'
import { createCircuitBreakers } from '../../gateway/circuit-breakers.ts'
import type { CircuitBreakers } from '../../gateway/circuit-breakers.ts'
import { createUpstreamClient } from '../../gateway/upstream-client/client.ts'
import type { UpstreamClient, UpstreamTimeouts } from '../../gateway/upstream-client/upstream.ts'
import { createTimeSlices } from '../../gateway/time-slices.ts'
import type { TimeSlices } from '../../gateway/time-slices.ts'
import { createWriteBatch } from '../../gateway/write-batch.ts'
import type { WriteBatch } from '../../gateway/write-batch.ts'
import type { Services } from '../../services.ts'
import { openStatistics } from '../statistics/recorder.ts'
import type { StatisticsRecorder } from '../statistics/recorder.ts'
import { countAbortedRequests } from './aborted-requests.ts'
import type { AbortedRequests } from './aborted-requests.ts'
import { Admission } from './admission.ts'
import type { AdmissionLimits } from './admission.ts'
import type { ReadonlyCounts } from './counts.ts'
import { EngineTotals } from './engine-totals.ts'
import { followTargets } from './follow-targets.ts'
import { derivePrefixKey } from './prefix-key.ts'
import { trackOpenRequests } from './revoke-access.ts'
import type { OpenRequests } from './revoke-access.ts'
import { reportInFlight } from './load-reports.ts'
import { sampleLoads } from './load-samples.ts'
import { createTargetCache } from './targets.ts'
import type { TargetCache } from './targets.ts'
import type { Traces } from './traces.ts'
import { Waking } from './waking.ts'

/** The state that the inference routes share between requests. */
export interface Inference {
  client: UpstreamClient
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

export interface InferenceSettings {
  timeouts: UpstreamTimeouts
  limits: AdmissionLimits
  routing: 'prefix' | 'least_busy'
  tracesEndpoint: URL | null
}

/** A response up to this size is held until it is complete, so that a broken one can still become a 502. */
const bufferBytes = 256 * 1024
/** Time that reading long request bodies may take in each turn of the event loop */
const sliceMilliseconds = 2

type Deps = Pick<
  Services,
  'db' | 'clock' | 'config' | 'log' | 'notifications' | 'prices' | 'runtime' | 'secretKey'
>

/** Connects to no engine until the first request. */
export async function openInference(
  deps: Deps,
  { timeouts, limits, routing, tracesEndpoint }: InferenceSettings,
): Promise<Inference> {
  const traces = tracesEndpoint === null ? null : await openTraces(tracesEndpoint)
  const writeBatch = createWriteBatch()
  const client = createUpstreamClient(timeouts, writeBatch)
  const breakers = createCircuitBreakers()
  const admission = new Admission(limits, breakers)
  const targets = createTargetCache(deps.notifications)
  const openRequests = trackOpenRequests(deps.db, deps.notifications, deps.log)
  const abortedRequests = countAbortedRequests(deps.log)
  const engineTotals = new EngineTotals(deps.log)
  const statistics = openStatistics(deps)
  const waking = new Waking(deps, limits.queued)
  const following = followTargets({ ...deps, inference: { targets } }, admission)
  const reports = reportInFlight(deps, admission, waking)
  const samples = sampleLoads(statistics, admission, waking)
  return {
    client,
    buffers: createBufferPool(bufferBytes),
    writeBatch,
    slices: createTimeSlices(sliceMilliseconds),
    breakers,
    admission,
    prefixKey: routing === 'prefix' ? derivePrefixKey(deps.secretKey) : null,
    targets,
    waking,
    openRequests,
    abortedRequests,
    engineTotals,
    statistics,
    traces,
    inFlight: admission.inFlightByDeployment,
    async close() {
      samples.close()
      waking.close()
      following.close()
      admission.close()
      await reports.close()
      targets.close()
      openRequests.close()
      // Responses that were left end now, and their engines may have to count them.
      await client.close()
      await abortedRequests.close()
      await engineTotals.close()
      await statistics.close()
      await traces?.close()
    },
  }
}

async function openTraces(endpoint: URL): Promise<Traces> {
  // Loaded on demand: OpenTelemetry is large.
  const traces = await import('./traces.ts')
  return traces.openTraces(endpoint)
}
