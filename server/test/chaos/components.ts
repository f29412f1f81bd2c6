import type { MemberLoad } from './fleet.ts'
import type { Pace } from './load.ts'

/** A part of an installation that can be killed. */
export interface Component {
  name: string
  /** True if running engines depend on it, so that chats may break */
  carriesEngines: boolean
  /**
   * Sends SIGKILL to one of its processes, then starts it again and waits until it works. Resolves to what
   * was killed.
   */
  killAndRestart(random: () => number, loads: readonly MemberLoad[]): Promise<string>
}

/** What a backend holds for a deployment. */
export interface Holding {
  engineId: string
  isServing: boolean
}

/** A compute backend, with the settings for a Berth that uses it. */
export interface Backend {
  settings: Record<string, string>
  components: Component[]
  /** The load of each of the two tenants */
  pace: Pace
  /** Reads what the backend holds at this moment. Throws if that can't be known. */
  observe(): Promise<Holding[]>
  /** Ids of deployments with anything left on the backend: models, processes, pods or other objects */
  listRemains(): Promise<string[]>
  /** How long after a change the ledger may notice it */
  toleranceMs: number
  /**
   * Ids of deployments in order of their launches, on a backend that loses no engine: each is launched once
   */
  launches?: readonly string[]
}

/**
 * The load for real engines, which take seconds to start. Two callers per tenant delete a deployment every
 * twenty seconds.
 */
export const slowPace: Omit<Pace, 'live'> = { pauseMs: 1_000, deletions: 0.02 }
