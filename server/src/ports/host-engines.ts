/** Engines on the host of a runtime: found, probed and installed. */

/** The memory of a GPU in bytes. */
export interface GpuMemory {
  totalBytes: number
  /** Reserved for engines */
  promisedBytes: number
  /** Used by other programs */
  othersBytes: number
  /** Such as `python (pid 4242, user kai) uses 21.3 GiB`; empty for none */
  others: string
}

/** A GPU of the host. */
export interface HostGpu {
  /** Such as `NVIDIA H100 80GB (driver 580.159)` */
  name: string
  /** null when unknown */
  memory: GpuMemory | null
  /** Why no engine can use it, as sentences; null if one can */
  obstacle: { reason: string; remedy: string } | null
}

/** What a GPU of the host does now. */
export interface GpuFigures {
  /** Short, such as `GPU-5c2d8f1a` */
  id: string
  /** Such as `NVIDIA L4` */
  name: string
  totalBytes: number
  /** Used by other programs */
  othersBytes: number
  /** How busy it was in the last moments, from 0 to 1; null when unknown */
  utilization: number | null
  /** The engines that hold it or a share of it; `usedBytes` is null when unknown */
  engines: readonly { engineId: string; usedBytes: number | null }[]
}

/** An engine of the host, whether or not it is used. */
export interface HostEngine {
  /** Such as `vLLM`; with its version, it names one engine */
  title: string
  /** null when unknown */
  version: string | null
  /** The path of its program, or its command; null for Berth's own engine */
  path: string | null
  foundBy: 'Berth' | 'a setting' | 'engines install' | 'PATH'
  /** Names of the GPUs that it can use; null if the host has none */
  gpus: readonly string[] | null
  /** True if new instances run on it */
  isUsed: boolean
  /** Why it is used or not, or not on a GPU, as sentences */
  reason: string
}

/** What can run on a host. */
export interface HostReport {
  gpus: readonly HostGpu[]
  engines: readonly HostEngine[]
  /** Names of what `install` has installed, such as `vllm-0.33.0` */
  installations: readonly string[]
}

/** The result of an installation or a deletion. `refusal` is why it failed and what to do, as sentences. */
export type EngineChange = { name: string } | { refusal: string }

/** Engines on the host of a runtime. */
export interface HostEngines {
  report(): Promise<HostReport>
  /** The GPUs of this host, at most half a minute old */
  measureGpus(): Promise<GpuFigures[]>
  /**
   * Installs `vllm`, `vllm==0.33.0`, `llama.cpp`, `cuda` or `xinference`, and resolves to a name such as
   * `vllm-0.33.0`. Calls `onProgress` with lines of text.
   */
  install(request: string, onProgress: (line: string) => void): Promise<EngineChange>
  /** Deletes an installation that no instance uses. */
  remove(name: string): Promise<EngineChange>
}
