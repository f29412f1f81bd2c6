import type { Application } from '../../application.ts'
import { openStatistics } from '../statistics/recorder.ts'
import type { StatisticsRecorder } from '../statistics/recorder.ts'
import { createAdmission } from './admission.ts'
import type { Admission, AdmissionLimits } from './admission.ts'
import { openEngineClients } from './engine-clients.ts'
import type { EngineClients, EngineTimeouts } from './engine-clients.ts'
import { watchEngineHealth } from './engine-health.ts'
import type { EngineHealth } from './engine-health.ts'
import { createTargetCache } from './targets.ts'
import type { TargetCache } from './targets.ts'
import { openTraces } from './traces.ts'
import type { Traces } from './traces.ts'

/** What the inference routes keep in memory between requests. */
export interface EngineConnections {
  timeouts: EngineTimeouts
  clients: EngineClients
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
  world: Pick<Application, 'db' | 'clock' | 'log' | 'notifications'>,
  { timeouts, limits, tracesEndpoint }: EngineSettings,
): Promise<EngineConnections> {
  const traces = tracesEndpoint === null ? null : await openTraces(tracesEndpoint)
  const clients = openEngineClients(timeouts)
  const health = watchEngineHealth()
  const admission = createAdmission(limits, health)
  const targets = createTargetCache(world.notifications)
  const statistics = openStatistics(world)
  return {
    timeouts,
    clients,
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
