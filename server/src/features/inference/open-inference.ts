import type { ProxySettings } from '../../config/proxy.ts'
import { createBufferPool } from '../../gateway/buffer-pool.ts'
import { createCircuitBreakers } from '../../gateway/circuit-breakers.ts'
import { createUpstreamClient } from '../../gateway/upstream-client/client.ts'
import type { UpstreamTimeouts } from '../../gateway/upstream-client/upstream.ts'
import { createTimeSlices } from '../../gateway/time-slices.ts'
import { createWriteBatch } from '../../gateway/write-batch.ts'
import type { Services } from '../../services.ts'
import { createMemberCache } from '../deployments/serving/named-member.ts'
import { StatisticsRecorder } from '../statistics/recorder.ts'
import { openOutside } from './open-outside.ts'
import { countAbortedRequests } from './counting/aborted-requests.ts'
import { Admission } from './waiting/admission.ts'
import type { AdmissionLimits } from './waiting/admission.ts'
import { EngineTotals } from './counting/engine-totals.ts'
import { followTargets } from './waiting/follow-targets.ts'
import { derivePrefixKey } from './waiting/prefix-key.ts'
import type { Inference } from './sending/inference.ts'
import { trackOpenRequests } from './sending/revoke-access.ts'
import { reportInFlight, sampleLoads } from './counting/load-reports.ts'
import { createTargetCache } from './targets/targets.ts'
import type { Traces } from './counting/traces.ts'
import { Waking } from './waiting/waking.ts'

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
  'db' | 'clock' | 'config' | 'log' | 'notifications' | 'prices' | 'runtimes' | 'secretKey'
>

/** Connects to no engine until the first request. */
export async function openInference(
  deps: Deps,
  { timeouts, limits, routing, tracesEndpoint }: InferenceSettings,
): Promise<Inference> {
  const traces = tracesEndpoint === null ? null : await openTraces(tracesEndpoint, deps.config.proxy)
  const writeBatch = createWriteBatch()
  const client = createUpstreamClient(timeouts, writeBatch)
  const outside = createUpstreamClient(
    timeouts,
    writeBatch,
    openOutside({ ...deps.config.endpoints, proxy: deps.config.proxy }),
  )
  const breakers = createCircuitBreakers()
  const admission = new Admission(limits, breakers)
  const targets = createTargetCache(deps.notifications)
  const members = createMemberCache(deps.notifications)
  const openRequests = trackOpenRequests(deps.db, deps.notifications, deps.log)
  const abortedRequests = countAbortedRequests(deps.log)
  const engineTotals = new EngineTotals(deps.log)
  const statistics = new StatisticsRecorder(deps)
  const waking = new Waking(deps, limits.queuedPerUser)
  const following = followTargets({ ...deps, inference: { targets } }, admission)
  const reports = reportInFlight(deps, admission, waking)
  const samples = sampleLoads(statistics, admission, waking)
  return {
    client,
    outside,
    buffers: createBufferPool(bufferBytes),
    writeBatch,
    slices: createTimeSlices(sliceMilliseconds),
    breakers,
    admission,
    prefixKey: routing === 'prefix' ? derivePrefixKey(deps.secretKey) : null,
    targets,
    members,
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
      members.close()
      openRequests.close()
      // Responses that were left end now, and their engines may have to count them.
      await Promise.all([client.close(), outside.close()])
      await abortedRequests.close()
      await engineTotals.close()
      await statistics.close()
      await traces?.close()
    },
  }
}

async function openTraces(endpoint: URL, proxy: ProxySettings): Promise<Traces> {
  // Loaded on demand: OpenTelemetry is large.
  const traces = await import('./counting/traces.ts')
  return traces.openTraces(endpoint, proxy)
}
