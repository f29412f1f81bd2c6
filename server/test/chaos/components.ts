import type { MemberLoad } from './fleet.ts'

/** A part of an installation that can be killed. */
export interface Component {
  name: string
  /** True if running engines depend on it, so that chats may break */
  carriesEngines: boolean
  /** Sends SIGKILL to one of its processes, then starts it again and waits until it works. Resolves to what was killed. */
  killAndRestart(random: () => number, loads: readonly MemberLoad[]): Promise<string>
}

/** What a backend holds for a deployment. */
export interface Holding {
  deploymentId: string
  isServing: boolean
}

/** A real compute backend, with the settings for a Berth that uses it. */
export interface Backend {
  settings: Record<string, string>
  components: Component[]
  /** Deployments of each of the two tenants at a time */
  deploymentsPerTenant: number
  /** Reads what the backend holds at this moment. Throws if that can't be known. */
  observe(): Promise<Holding[]>
  /** Ids of deployments with anything left on the backend: models, processes, pods or other objects */
  listRemains(): Promise<string[]>
  /** How long after a change the ledger may notice it */
  toleranceMs: number
}
