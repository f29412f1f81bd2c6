import type { InstanceType } from '../../../ports/model-runtime.ts'
import type { ClusterMachine, OwnCluster } from '../../../ports/own-cluster.ts'
import type { RuntimeLogger } from '../runtime-logger.ts'

/** How workers get uploaded files. */
export interface UploadSettings {
  /** Address of this server from the workers */
  serverUrl: string
  /** The folder of the workers for the files, as an absolute path */
  folder: string
}

/** A supervisor, such as `http://10.0.0.5:9997`, and Berth's user there; null without a sign-in */
export interface SupervisorAddress {
  origin: string
  credentials: { username: string; password: string } | null
}

/** The programs of a cluster on the host of this process. */
export interface OwnClusterHost extends OwnCluster {
  /** null without a cluster */
  findAddress(): SupervisorAddress | null
  /** Adds the machines that have left. `present` is null if the cluster doesn't respond. */
  withAbsent(present: readonly ClusterMachine[] | null): Promise<ClusterMachine[]>
  close(): void
}

/** Settings of the runtime that launches models on Xinference clusters. */
export interface XinferenceSettings {
  /** The supervisors, one per cluster */
  supervisors: readonly SupervisorAddress[]
  /** The cluster that this installation can run itself; absent where it can't */
  ownCluster?: OwnClusterHost | undefined
  /** Instance types from the file, used to name the GPUs that match them */
  instanceTypes: readonly InstanceType[]
  /** Share of each GPU's memory that engines may use, above 0 and at most 1 */
  gpuMemoryShare: number
  /** null if workers load no uploaded files */
  uploads: UploadSettings | null
  logger: RuntimeLogger
  /** The time at which hardware is reserved; default the time of day */
  clock?: (() => Date) | undefined
  /** Timeout of a request to a supervisor, in milliseconds; default 15 s */
  responseTimeoutMs?: number | undefined
  /** How long a plan waits for a cluster's list of models, in milliseconds; default 3 s */
  modelListPatienceMs?: number | undefined
  /** Milliseconds without progress until a download or start fails; default 20 minutes */
  stallMs?: number | undefined
  /** Polling interval for a model's events while a log is followed, in milliseconds; default 2 s */
  followIntervalMs?: number | undefined
}
