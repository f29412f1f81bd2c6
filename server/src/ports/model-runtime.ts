/** The port to the compute backends that run inference engines. */

import type { EngineError, EngineErrorResponse, EngineFailure, FailureCode } from './engine-failures.ts'
import type { EngineOptions, ModelLora, ModelVariant } from './model-variant.ts'
import type { HostEngines } from './host-engines.ts'
import type { ClusterMachine, OwnCluster } from './own-cluster.ts'
import type { RuntimeEngine, ServingCapacity } from './runtime-engine.ts'

/** How a model writes conversations. */
export interface ChatTemplates {
  /** Of the model's weights */
  format: string
  chatTemplate: string
  /** Replaces `chatTemplate` in requests with tools; null for none */
  toolTemplate: string | null
}

/** A LoRA that an engine loads. `hubToken` is like that of `EngineSpec`. */
export interface EngineLora extends ModelLora {
  hubToken?: string | null | undefined
}

/** Everything needed to start an engine. A new capacity gives an engine a new spec; it then restarts. */
export interface EngineSpec extends ServingCapacity {
  /** Identifies the engine and the instance that it has */
  engineId: string
  /** The deployment that it serves, which may have several engines; for labels that people read */
  deploymentId: string
  /** A further name that the engine accepts for the model, different for each deployment */
  modelUid: string
  /** The model's name in requests to the engine and in its responses */
  servedModelName: string
  /** The key that callers of the engine must send */
  apiKey: string
  /** The `clusterId` of the provisioned instance; null before provisioning */
  clusterId: string | null
  variant: ModelVariant
  /** Reads the weights' repository; null for reading without one, absent for the runtime's own token */
  hubToken?: string | null | undefined
  /** The password of the deployment for its uploaded file on the server; absent for other weights */
  fileKey?: string | undefined
  /** What the engine serves besides, in this order; absent for none */
  loras?: readonly EngineLora[] | undefined
  /** Options of the engine's command line that the deployment sets; absent for none */
  engineOptions?: EngineOptions | undefined
  /** Which of the engine's versions runs, if the runtime still has it; absent for the newest */
  engineVersion?: string | undefined
  instanceType: string
  gpuCount: number
  /** Estimated memory for weights, caches and overhead; the runtime reserves this amount */
  memoryBytes: number
}

/** What is known of an engine before its deployment exists. */
export type PlannedEngine = Pick<
  EngineSpec,
  | 'variant'
  | 'engineOptions'
  | 'instanceType'
  | 'gpuCount'
  | 'memoryBytes'
  | 'contextTokens'
  | 'parallelSequences'
>

export type GpuVendor = 'nvidia' | 'amd' | 'apple'

/** An instance type of this runtime, without its price. */
export interface InstanceOffer {
  instanceType: string
  region: string
  gpuCount: number
  gpuModel: string | null
  /** null without a GPU or when unknown */
  vendor: GpuVendor | null
  /** NVIDIA's compute capability, such as 8.9; null for other vendors or when unknown */
  computeCapability: number | null
  /** Bytes for an engine: 90 % of the usable memory of all GPUs, or of the host if `gpuCount` is 0 */
  memoryBytes: number
  /** Its part for states of conversations without a slot; absent if they have other memory or none */
  stateCacheBytes?: number | undefined
  formats: string[]
  /** The largest model that it takes, in billions of parameters; omitted for any */
  maxBillions?: number | undefined
  /** Into how many shares its GPU is divided: it is one of them; omitted for whole GPUs */
  shares?: number | undefined
  /** Why it has less memory now: its memory without the programs of others; omitted if it has all of it */
  inUse?: { memoryBytes: number; programs: string } | undefined
  /** Why no engine can use its GPUs, as sentences; absent if one can */
  obstacle?: string | undefined
}

/** One entry of the instance type file: a set of GPUs rented as a unit. */
export interface InstanceType {
  name: string
  region: string
  vendor: GpuVendor
  gpuModel: string
  gpuCount: number
  /** Usable bytes of each GPU */
  gpuMemoryBytes: number
  computeCapability: number | null
  /** A decimal string in the main unit of the currency */
  pricePerHour: string
  /** Kubernetes node labels that select nodes with these GPUs */
  nodeSelector: Record<string, string>
  /** The Kubernetes resource that counts them, such as `nvidia.com/mig-1g.10gb`; omitted for whole GPUs */
  resource?: string | undefined
  tolerations: Toleration[]
}

/** A Kubernetes toleration. */
export interface Toleration {
  key?: string
  operator?: 'Exists' | 'Equal'
  value?: string
  effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
}

/** The hardware that a provider gave to an instance. */
export interface Allocation {
  instanceId: string
  clusterId: string
  gpuAllocationId: string
  region: string
  /** When the provider handed over the instance; billing starts here */
  startedAt: Date
}

/** The hardware that serves an engine now. It differs from the provisioned one after a loss or a restart. */
export interface ServingAllocation {
  /** Absent if the engine was launched again in the place that `provision` reserved */
  instanceId?: string | undefined
  gpuAllocationId?: string | undefined
  /** When the runtime replaced the instance; billing of the predecessor ends here at the latest */
  createdAt: Date
  /** When the engine's process started; billing of a replacement starts here */
  startedAt: Date
  /** One sentence for a person: why the predecessor was lost, if known */
  reason: string | null
}

export interface EngineEndpoint {
  /** Without a trailing slash and without `/v1`, such as `http://127.0.0.1:41234` */
  baseUrl: string
}

/** How an engine that others run is reached now. */
export interface OutsideEngine {
  /** Like that of `EngineEndpoint` */
  baseUrl: string
  /** The value of the header; null for none */
  authorization: string | null
  /** The header's name; null for `Authorization` */
  header: string | null
}

/**
 * When an engine lost with its instance was last known to work: billing ends there. `unknown`: the loss
 * counts from the first observation without it. Undefined if the instance remains.
 */
export type LossTime = Date | 'unknown' | undefined

/** The current state of an engine. `message` is one sentence for a person. */
export type EngineObservation =
  | { phase: 'absent'; lostAt?: LossTime }
  | {
      phase: 'downloading'
      message: string
      receivedBytes: number
      totalBytes: number | null
      /** Progress from 0 to 1, for runtimes that report a fraction instead of bytes */
      fraction?: number | undefined
    }
  /** With `lostAt` if the engine was lost and may come back by itself */
  | { phase: 'starting'; message: string; lostAt?: LossTime }
  /** From `ensureEngine`: the engine has also answered one inference request */
  | { phase: 'ready'; endpoint: EngineEndpoint; instance?: ServingAllocation | undefined }
  /** The machine or cluster is unreachable, so the state is unknown. The engine may still be serving. */
  | { phase: 'unreachable'; message: string }
  | ({ phase: 'failed'; lostAt?: LossTime } & EngineFailure)

export interface LogLine {
  at: Date
  line: string
}

/** The logs of engines. */
export interface EngineLogs {
  /** The last `limit` lines of the engine's log, oldest first. */
  read(engineId: string, limit: number): Promise<LogLine[]>
  /** The last `tail` lines of the engine's log, then each new line until the signal aborts. */
  follow(engineId: string, tail: number, signal: AbortSignal): AsyncIterable<LogLine>
  /** False if another process keeps the log out of reach. Defined only if that is possible. */
  isReadable?(engineId: string): Promise<boolean>
}

/** Weights on the disk of a runtime's host. */
export interface CachedWeights {
  /** Names them on that host, such as `huggingface/owner/name/commit/file.gguf` */
  name: string
  bytes: number
  usedAt: Date
  /** True if a deployment needs them */
  isNeeded: boolean
}

/** The weights that a runtime caches on its host. */
export interface WeightCache {
  /** The size and the limit in bytes. */
  measure(): Promise<{ bytes: number; limitBytes: number }>
  /** The files in the cache, the least recently used first */
  list(): Promise<CachedWeights[]>
  /** The files in the cache of each of these variants */
  listOf(variants: readonly ModelVariant[]): Promise<CachedWeights[][]>
  /** Deletes the files that no deployment needs, and resolves to them. */
  prune(): Promise<CachedWeights[]>
  /** Downloads what is missing of a variant. Resolves to the failure; to null once all files are there. */
  fetch(variant: ModelVariant, options: FetchOptions): Promise<EngineFailure | null>
}

export interface FetchOptions {
  /** Like that of `EngineSpec` */
  hubToken: string | null | undefined
  /** Called again and again with a sentence */
  onProgress: (message: string) => void
}

/**
 * `refused` is final for this offer; after `no_capacity` try the next one. `pending`: not available yet, call
 * again. Billing starts with `provisioned`. `message` is one sentence for a person.
 */
export type ProvisionResult =
  | { outcome: 'provisioned'; instance: Allocation }
  | { outcome: 'pending'; message: string }
  | { outcome: 'refused'; code: FailureCode; message: string }

/** Why a runtime can't load a variant, as a clause without a period; null if it can. */
export type ModelAvailability = (variant: ModelVariant) => string | null

/** Methods are idempotent, return within seconds, and can be repeated after a crash. Errors are transient. */
export interface ModelRuntime {
  /** Its name in RUNTIME, which instances keep. Code depends on the facts below instead. */
  readonly name: string
  /** The engines of this runtime, at most one per format; others after an installation */
  readonly engines: readonly RuntimeEngine[]
  /** The cluster of all its instances; absent if it has several */
  readonly clusterId?: string | undefined
  /** False while it has nowhere to run engines, and so takes no part; absent where it always has */
  readonly isConfigured?: boolean | undefined
  /** The capacity of an engine that shares the memory of a host with others; null for Berth's default */
  readonly sharedCapacity: ServingCapacity | null
  /** True if engines load the catalog's weights; false if the runtime has its own list of models */
  readonly usesCatalogWeights: boolean
  /** True if engines load files that people uploaded to this server; absent if not */
  readonly loadsUploads?: boolean | undefined
  readonly logs: EngineLogs
  /** Defined only for runtimes that cache weights on the host of this process */
  readonly weightCache?: WeightCache | undefined
  /** Defined only for runtimes whose engines run on the host of this process */
  readonly hostEngines?: HostEngines | undefined
  /** Defined only for runtimes that can run a cluster's supervisor on the host of this process */
  readonly ownCluster?: OwnCluster | undefined
  /** Lists the machines that it knows. Defined only for runtimes whose machines join by themselves. */
  listMachines?(): Promise<ClusterMachine[]>
  /** All instance types of this runtime, regardless of free capacity, in no particular order. */
  listOffers(): Promise<InstanceOffer[]>
  /** Reads what the runtime can load. Defined only for runtimes that have their own list of models. */
  readAvailability?(): Promise<ModelAvailability>
  /**
   * Renders a model's chat templates once, within limits. Resolves to what they exceed, as a clause; null if
   * nothing. Absent where engines have their own containers.
   */
  checkChatTemplate?(templates: ChatTemplates): Promise<string | null>
  /**
   * The command line of an engine, without addresses, secrets, and places of files; null for an engine that
   * takes no options. Absent where Berth doesn't write it.
   */
  describeCommand?(engine: PlannedEngine): Promise<readonly string[] | null>
  /** Allocates an instance for an engine, or returns its existing one. */
  provision(spec: EngineSpec): Promise<ProvisionResult>
  /**
   * Starts the download or the engine if neither exists. Never restarts a failed engine. Stops an engine that
   * is still shutting down, which counts as `starting`.
   */
  ensureEngine(spec: EngineSpec): Promise<EngineObservation>
  /** Returns the state without changing anything. `clusterId` is that of the instance, if known. */
  observeEngine(engineId: string, clusterId?: string | null): Promise<EngineObservation>
  /** Calls `listener` soon after a running engine is lost, until `close`; for runtimes that get events. */
  onEngineLost?(listener: (engineId: string) => void): void
  /** Calls `listener` soon after a start succeeds or fails, until `close`; for runtimes that get events. */
  onEngineStarted?(listener: (engineId: string) => void): void
  /** Stops the engine and its download but keeps the instance. Returns true once the engine has exited. */
  stopEngine(engineId: string, clusterId?: string | null): Promise<boolean>
  /** Stops the engine and releases the instance. Returns true once confirmed, or for unknown ids. */
  release(engineId: string, clusterId?: string | null): Promise<boolean>
  /** Ids of all engines with resources on this runtime, including orphans. */
  listEngineIds(): Promise<string[]>
  /**
   * The `Authorization` header for requests to an engine, or null for none. Defined only for runtimes that
   * don't use the spec's `apiKey` as a bearer token. `refused` is a header that got a 401.
   */
  authorizeEngine?(baseUrl: string, refused?: string | null): Promise<string | null>
  /**
   * Finds an engine that others run, by the address that `ensureEngine` gave. Defined only for runtimes that
   * start nothing: requests leave the installation, and deployments neither sleep nor scale.
   */
  reachEngine?(engineUrl: string): Promise<OutsideEngine>
  /** Reads an error response; null if callers may see it unchanged. Undefined if all have OpenAI's shape. */
  readEngineError?(response: EngineErrorResponse): EngineError | null
  /** The only name that an engine accepts; for runtimes that can't choose it, or need one for each engine. */
  nameModel?(spec: Pick<EngineSpec, 'engineId' | 'modelUid'>): string
  /** Closes this process's connections. Engines keep running. */
  close(): Promise<void>
}

/** An offer with what its runtime says about all of its offers. */
export interface RuntimeOffer extends InstanceOffer {
  runtime: OfferingRuntime
  /** Names it in sentences where several runtimes offer its instance type; absent for the type's name */
  title?: string | undefined
}

/** The offers of all runtimes that respond. */
export interface RuntimeOffers {
  offers: RuntimeOffer[]
  /** The names of the runtimes whose offers are unknown, because they don't respond */
  away: readonly string[]
}

/** What decides how a runtime's offers serve a model. */
export interface OfferingRuntime extends Pick<
  ModelRuntime,
  'name' | 'engines' | 'sharedCapacity' | 'clusterId'
> {
  /** True if other runtimes make offers too */
  isOneOfSeveral?: boolean | undefined
  /** Omitted where it loads every variant of its formats */
  availability?: ModelAvailability | undefined
}

/** The runtimes of an installation, and what any of them can do. */
export interface ModelRuntimes extends Pick<ModelRuntime, 'weightCache' | 'hostEngines' | 'ownCluster'> {
  /** Those that are configured now: at least one, in the order in which RUNTIME names them */
  readonly all: readonly ModelRuntime[]
  /** The engines of all. Several may load the same format. */
  readonly engines: readonly RuntimeEngine[]
  /** True if any of them loads files that people uploaded */
  readonly loadsUploads: boolean
  /** Like that of the runtime that has it; null without one */
  checkChatTemplate(templates: ChatTemplates): Promise<string | null>
  /** The runtime of an instance; undefined before its hardware is chosen */
  find(name: string | null): ModelRuntime | undefined
  /** The runtime of an instance with hardware. Throws `runtime_unavailable` if it is not configured. */
  get(name: string | null): ModelRuntime
  /** The offers of those that respond. Throws what the first one throws if none does. */
  listOffers(): Promise<RuntimeOffers>
  /** Like those of the runtimes, also of one that is configured later */
  onEngineLost(listener: (engineId: string) => void): void
  onEngineStarted(listener: (engineId: string) => void): void
  /** Closes this process's connections. Engines keep running. */
  close(): Promise<void>
}
