/** The cluster whose supervisor this installation runs itself. Machines join it with one command. */

/** A machine of a cluster. Figures are null when unknown. */
export interface ClusterMachine {
  /** Without a port */
  address: string
  /** `left`: it was in the cluster and doesn't respond. `unknown`: its cluster doesn't respond. */
  state: 'present' | 'left' | 'unknown'
  /** When it last responded, as far as this host knows */
  lastSeenAt: Date | null
  /** Of the cluster's program there */
  version: string | null
  cpuCount: number | null
  memoryBytes: number | null
  freeBytes: number | null
  gpus: readonly { name: string | null; memoryBytes: number; freeBytes: number }[]
  /** The engines that run there */
  engineIds: readonly string[]
}

/** Which programs of the cluster run on this host. */
export interface ClusterState {
  /** Of this host in the cluster */
  address: string
  port: number
  supervisor: 'running' | 'restarting'
  worker: 'running' | 'restarting'
}

/** How another machine joins. */
export interface JoinInstructions {
  /** Each with the machines that it is for */
  commands: readonly { machines: string; command: string }[]
  /** What else people must know, such as open ports, as sentences */
  notes: readonly string[]
}

/** A refusal is why it failed and what to do, as sentences. */
export type ClusterChange<Done> = Done | { refusal: string }

/** The cluster of this installation. Each `DATA_DIR` has at most one. */
export interface OwnCluster {
  /**
   * Installs, starts and joins what is missing. `address` is that of this host for other machines; null to
   * choose it. Calls `onProgress` with lines of text.
   */
  start(
    request: { address: string | null; port: number | null },
    onProgress: (line: string) => void,
  ): Promise<ClusterChange<JoinInstructions>>
  /** Ends the supervisor and the worker of this host; false if there is no cluster. */
  stop(): Promise<boolean>
  /** null without a cluster */
  read(): Promise<ClusterState | null>
  /** How another machine joins; null without a cluster */
  describeJoin(): JoinInstructions | null
  /** Restarts what is lost, until it is stopped. The programs go on. */
  supervise(): { stop(): Promise<void> }
}
