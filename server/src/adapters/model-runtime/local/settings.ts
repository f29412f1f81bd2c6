import type { ObservedTime } from '../../../base/observed-time.ts'
import type { ProxySettings } from '../../../config/proxy.ts'
import type { InstanceType } from '../../../ports/model-runtime.ts'
import type { ServingCapacity } from '../../../ports/runtime-engine.ts'
import type { ModelStore } from '../../../ports/model-store.ts'
import type { ProbeDevice } from './inventory/types.ts'
import type { RuntimeLogger } from '../runtime-logger.ts'

/** A program of the operator: its command line, split at spaces. */
export type Command = readonly [string, ...string[]]

/** Retry policy for downloads. */
export interface RetrySettings {
  /** Attempts without progress before a download fails; doubled once part of the file has arrived */
  attempts: number
  /** First backoff in milliseconds, doubled for each retry, up to a minute */
  baseDelayMs: number
  /** Milliseconds without data before a connection counts as lost */
  idleTimeoutMs: number
}

/** Memory of an engine for states of conversations without a sequence */
export const defaultStateCacheBytes = 128 * 2 ** 20

/** Settings of the runtime that runs engines as processes on this host. */
export interface LocalRuntimeSettings {
  /** `DATA_DIR`, with the weights and the state of the engines */
  dataDirectory: string
  /** Base folder of relative `file` weights in the catalog */
  catalogDirectory: string
  huggingFace: {
    /** `HF_ENDPOINT`, default `https://huggingface.co` */
    endpoint: string
    /** `HF_TOKEN`, required for gated models */
    token: string | null
  }
  /** The remote store of uploaded models; null, the default, if they are in `dataDirectory` */
  modelStore?: Pick<ModelStore, 'measure' | 'read'> | null | undefined
  logger: RuntimeLogger
  /** The server's environment. Engines inherit only the variables that locate programs, folders and GPUs. */
  environment: Record<string, string | undefined>
  /** The instance type file, for names, prices and facts of this host's GPUs; default none */
  instanceTypes?: readonly InstanceType[] | undefined
  /** Memory for all engines in bytes, without NVIDIA GPUs; default: that of the container or host */
  memoryBytes?: number | undefined
  /** The largest model for the CPU beside GPUs, in billions of parameters; default 1 */
  cpuMaxBillions?: number | undefined
  /** Memory of an engine for states of conversations without a sequence; default 128 MiB */
  stateCacheBytes?: number | undefined
  /** `WEIGHTS_LIMIT`: limit of the weight cache; null for the disk except a tenth */
  maxWeightBytes?: number | null | undefined
  /** `LLAMA_SERVER_COMMAND`: runs GGUF files instead of Berth's own engine; null for that */
  llamaServerCommand?: Command | null | undefined
  /** `VLLM_COMMAND`: runs the formats of vLLM; null if this host has no vLLM */
  vllmCommand?: Command | null | undefined
  /** The share of a GPU's memory that an engine may use; default 0.9 */
  gpuMemoryShare?: number | undefined
  /** `GPU_SHARES`: into how many shares each GPU is also offered; default 1 for whole GPUs only */
  gpuShares?: number | undefined
  /** Hosts that engines may fetch media from; default none */
  mediaDomains?: readonly string[] | undefined
  /** Capacity of engines that share the memory of this host; default Berth's */
  sharedCapacity?: ServingCapacity | undefined
  /** For downloads: `http://host:port`, and comma-separated hosts to reach directly; default none */
  proxy?: ProxySettings | undefined
  retry?: RetrySettings | undefined
  /** Milliseconds before loading a model counts as failed; default 20 minutes */
  loadingTimeoutMs?: number | undefined
  /** The time at which hardware is reserved; default the time of day */
  clock?: (() => Date) | undefined
  /** Measures how long engines load; default by the time of day */
  observedTime?: Pick<ObservedTime, 'between'> | undefined
  /** Milliseconds in which a program must tell its version; default 10 seconds */
  versionTimeoutMs?: number | undefined
  /** Milliseconds for a probe of an engine on a GPU; default 10 seconds, and longer where code is compiled */
  probeTimeoutMs?: number | undefined
  /** The script that probes Berth's engine, run with the same Node; default `engine/src/probe.ts` */
  probeProgram?: string | undefined
  /** How engines are probed on GPUs; default in child processes */
  probeDevice?: ProbeDevice | undefined
  /** The engine script, run with the same Node; default `engine/src/main.ts` */
  engineProgram?: string | undefined
}
