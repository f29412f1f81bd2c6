/** What Berth asks of a place that runs inference engines: this host, a Xinference cluster, a Kubernetes cluster. */

/** Where a model's weights are. A `file` path is absolute or relative to the catalog file's folder. */
export type WeightSource =
  | { kind: 'file'; path: string }
  | { kind: 'url'; url: string; sha256?: string | undefined }
  | { kind: 'huggingface'; repo: string; revision: string; files: string[] }

export type ModelType = 'LLM' | 'embedding'

/** The architecture facts that sizing needs; `null` in a catalog entry means unknown. */
export interface ModelArchitecture {
  /** Parameters, all experts included */
  parameters: number
  layers: number
  attentionHeads: number
  kvHeads: number
  headDimension: number
  hiddenSize: number
  vocabularySize: number
}

/** One exact thing to run, copied from the catalog when it was chosen, so that a later catalog can't change it. */
export interface ModelVariant {
  modelName: string
  modelType: ModelType
  /** `ggufv2`, `pytorch`, `awq`, `gptq`, `fp8` …: Xinference's names */
  format: string
  sizeInBillions: number
  quantization: string
  /** Tokens that the model was trained for */
  contextLength: number
  architecture: ModelArchitecture | null
  /** Bytes of the weight files where known */
  weightBytes: number | null
  weights: WeightSource
}

/** What an engine needs to be started; the same spec for the same deployment, always. */
export interface EngineSpec {
  deploymentId: string
  /** The name that the engine serves the model under */
  modelUid: string
  /** The secret that the engine asks of its callers */
  apiKey: string
  /** The `clusterId` of the instance that it was given; null before it has one */
  clusterId: string | null
  variant: ModelVariant
  instanceType: string
  gpuCount: number
  /** What the deployment was found to need, weights and caches together; the runtime sets this much aside */
  memoryBytes: number
  /** Tokens of context for each request */
  contextTokens: number
  /** Requests that are worked on at a time */
  parallelSequences: number
}

export type GpuVendor = 'nvidia' | 'amd' | 'apple'

/** An instance type that this runtime has; what it costs is not the runtime's to say. */
export interface InstanceOffer {
  instanceType: string
  region: string
  gpuCount: number
  gpuModel: string | null
  /** null: no GPU, or not known */
  vendor: GpuVendor | null
  /** NVIDIA's compute capability, e.g. 8.9; null: another vendor's, or not known */
  computeCapability: number | null
  /** Bytes that an engine may take, 90 % of what is usable: of all GPUs together, or of the host when `gpuCount` is 0 */
  memoryBytes: number
  formats: string[]
}

/** One entry of the instance type file: GPUs that can be rented together under a name. */
export interface InstanceType {
  name: string
  region: string
  vendor: GpuVendor
  gpuModel: string
  gpuCount: number
  /** Usable bytes of each GPU */
  gpuMemoryBytes: number
  computeCapability: number | null
  /** In the currency's main unit, a decimal string */
  pricePerHour: string
  /** Where Kubernetes finds such GPUs */
  nodeSelector: Record<string, string>
  tolerations: Toleration[]
}

/** Kubernetes' own: a taint of nodes that a pod puts up with. */
export interface Toleration {
  key?: string
  operator?: 'Exists' | 'Equal'
  value?: string
  effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
}

export interface ProvisionedInstance {
  instanceId: string
  clusterId: string
  gpuAllocationId: string
  region: string
  /** When the provider gave the instance: its clock starts here */
  startedAt: Date
}

export interface EngineEndpoint {
  /** Without a trailing slash and without `/v1`, e.g. `http://127.0.0.1:41234` */
  baseUrl: string
}

/** The stage of a failure, as `failure_stage` answers it. */
export type FailureStage =
  | 'instance_selection'
  | 'provisioning'
  | 'engine_startup'
  | 'model_download'
  | 'model_launch'
  | 'health_check'
  | 'runtime'
  | 'termination'

export type FailureCode =
  | 'no_feasible_instance'
  | 'no_capacity'
  | 'quota_exceeded'
  | 'provider_error'
  | 'provision_timeout'
  | 'engine_unreachable'
  | 'model_not_found'
  | 'download_failed'
  | 'disk_full'
  | 'out_of_memory'
  | 'launch_rejected'
  | 'readiness_timeout'
  | 'instance_lost'
  | 'engine_crashed'
  | 'cleanup_failed'

/** What is seen of a deployment's engine at this moment. `message` is one sentence for a person. */
export type EngineObservation =
  | { phase: 'absent' }
  | {
      phase: 'downloading'
      message: string
      receivedBytes: number
      totalBytes: number | null
      /** From 0 to 1, of a runtime that knows it and not the bytes */
      share?: number | undefined
    }
  | { phase: 'starting'; message: string }
  | { phase: 'ready'; endpoint: EngineEndpoint }
  /** What runs the engine is out of reach, so nobody knows whether the engine still serves; it may come back as it was */
  | { phase: 'unreachable'; message: string; since: Date }
  | { phase: 'failed'; stage: FailureStage; code: FailureCode; message: string }

export interface LogLine {
  at: Date
  line: string
}

/**
 * A refusal is final for this offer; `no_capacity` lets the next offer be tried. `pending`: the instance was asked for and may
 * still come, so ask again; its clock has not started. `message` is one sentence.
 */
export type Provisioning =
  | { outcome: 'provisioned'; instance: ProvisionedInstance }
  | { outcome: 'pending'; message: string }
  | { outcome: 'refused'; code: FailureCode; message: string }

/**
 * Every call is idempotent, returns within seconds and may be made again after a crash at any line. A call that throws
 * is a passing fault: the caller tries again later.
 */
export interface ModelRuntime {
  readonly name: 'local' | 'xinference' | 'kubernetes'
  /** The instance types that could be had if nothing else ran, in no order. */
  listOffers(): Promise<InstanceOffer[]>
  /** Takes an instance for a deployment, or finds the one that it has. */
  provision(spec: EngineSpec): Promise<Provisioning>
  /**
   * Starts the download or the engine where there is none yet, and says what is seen; never restarts a failed one. One that is
   * being stopped is ended first, and is `starting` until then.
   */
  ensureEngine(spec: EngineSpec): Promise<EngineObservation>
  /** Says what is seen of the engine, changing nothing. `clusterId` here and below is its instance's, where that is known. */
  observeEngine(deploymentId: string, clusterId?: string | null): Promise<EngineObservation>
  /** Ends the engine and a download for it, keeping the instance; true once confirmed gone. */
  stopEngine(deploymentId: string, clusterId?: string | null): Promise<boolean>
  /** Ends the engine and gives the instance back; true once confirmed. Unknown deployments are confirmed at once. */
  release(deploymentId: string, clusterId?: string | null): Promise<boolean>
  /** Deployments that hold anything here, so that what nobody owns can be found. */
  listHeld(): Promise<string[]>
  /** The engine's last lines, oldest first, at most `limit`; empty when there are none. */
  readLogs(deploymentId: string, limit: number): Promise<LogLine[]>
  /** Lines as they are written from now on, until the signal fires. */
  followLogs(deploymentId: string, signal: AbortSignal): AsyncIterable<LogLine>
  /**
   * The `Authorization` header of requests to an engine, null for none, where it isn't `Bearer` and the spec's `apiKey`. `refused` is
   * one that the engine answered 401 to.
   */
  authorizeEngine?(baseUrl: string, refused?: string | null): Promise<string | null>
  /** Lets go of the engines without ending them: they outlive this process. */
  close(): Promise<void>
}
