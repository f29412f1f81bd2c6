import type { Clusters } from './clusters.ts'
import type { Reservation } from './offers.ts'
import { SupervisorError } from './errors.ts'
import type { ProgressTracker } from './progress-tracker.ts'
import type { XinferenceSettings } from './settings.ts'
import type { Supervisor } from './supervisor.ts'
import type { Terminator } from './terminate.ts'
import type { UploadClaims } from './upload-claims.ts'

/** What the operations of the runtime share. The maps and sets are caches of this process, by engine. */
export interface XinferenceContext {
  settings: XinferenceSettings
  clusters: Clusters
  terminator: Terminator
  tracker: ProgressTracker
  claims: UploadClaims
  locations: Map<string, Supervisor>
  reservations: Map<string, Reservation>
  /** Engines whose supervisor did not respond the last time; the log has it once */
  unreachable: Set<string>
  /** Engines whose model Berth terminated and has not launched since. Failures from before are ignored. */
  terminated: Set<string>
}

/** The uid of an engine's model. */
export function toUid(engineId: string): string {
  return `dep-${engineId}`
}

const uidPattern = /^dep-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** The engine of a model; null for a model that Berth hasn't launched. */
export function toEngineId(uid: string): string | null {
  return uidPattern.exec(uid)?.[1] ?? null
}

/** Finds the supervisor of a model; null if none has it. Throws SupervisorError if one does not respond. */
export async function locateModel(
  { clusters: { supervisors }, locations }: XinferenceContext,
  engineId: string,
  clusterId: string | null | undefined,
): Promise<Supervisor | null> {
  const known =
    supervisors.find((supervisor) => supervisor.clusterId === clusterId) ?? locations.get(engineId)
  if (known !== undefined) return known
  let lastError: SupervisorError | null = null
  for (const supervisor of supervisors) {
    try {
      const uid = toUid(engineId)
      const hasModel =
        (await supervisor.findInstance(uid)) !== null || (await supervisor.describe(uid)).state !== 'unknown'
      if (!hasModel) continue
      locations.set(engineId, supervisor)
      return supervisor
    } catch (error) {
      if (!(error instanceof SupervisorError)) throw error
      lastError = error
    }
  }
  if (lastError !== null) throw lastError
  return null
}
