import type { Services } from '../../services.ts'
import { openStatistics } from '../statistics/recorder.ts'
import type { StatisticsRecorder } from '../statistics/recorder.ts'
import { createAdmission } from './admission.ts'
import type { Admission, AdmissionLimits } from './admission.ts'
import type { EngineClient, EngineTimeouts } from './engine-client/client.ts'
import { openNativeClient } from './engine-client/native-client.ts'
import { watchEngineHealth } from './engine-health.ts'
import type { EngineHealth } from './engine-health.ts'
import { createHeldBuffers } from './held-buffers.ts'
import type { HeldBuffers } from './held-buffers.ts'
import { createTargetCache } from './targets.ts'
import type { TargetCache } from './targets.ts'
import { openTraces } from './traces.ts'
import type { Traces } from './traces.ts'
import { createTurn } from './turn.ts'
import type { Turn } from './turn.ts'

/** What the inference routes keep in memory between requests. */
export interface EngineConnections {
  timeouts: EngineTimeouts
  clients: EngineClient
  buffers: HeldBuffers
  turn: Turn
  health: EngineHealth
  admission: Admission
  targets: TargetCache
  statistics: StatisticsRecorder
  /** null: nobody collects them */
  traces: Traces | null
  /** Requests under way by deployment */
  inFlight: ReadonlyMap<string, number>
  close(): Promise<void>
}

export interface EngineSettings {
  timeouts: EngineTimeouts
  limits: AdmissionLimits
  tracesEndpoint: URL | null
}

/** Opens no connection to an engine by itself. */
export async function openEngineConnections(
  world: Pick<Services, 'db' | 'clock' | 'log' | 'notifications'>,
  { timeouts, limits, tracesEndpoint }: EngineSettings,
): Promise<EngineConnections> {
  const traces = tracesEndpoint === null ? null : await openTraces(tracesEndpoint)
  const turn = createTurn()
  const clients = openNativeClient(timeouts, turn)
  const health = watchEngineHealth()
  const admission = createAdmission(limits, health)
  const targets = createTargetCache(world.notifications)
  const statistics = openStatistics(world)
  return {
    timeouts,
    clients,
    buffers: createHeldBuffers(),
    turn,
    health,
    admission,
    targets,
    statistics,
    traces,
    inFlight: admission.inFlight,
    async close() {
      admission.close()
      targets.close()
      await clients.close()
      await statistics.close()
      await traces?.close()
    },
  }
}
