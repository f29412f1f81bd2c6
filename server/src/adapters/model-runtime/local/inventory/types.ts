import type { Gpu } from '../gpus.ts'

/** Where an engine of this host was found. */
export type EngineOrigin = 'bundled' | 'setting' | 'installed' | 'path'

/** Why an engine can't be used, or not on a device. */
export type EngineProblem =
  | { kind: 'missing libraries'; libraries: readonly string[] }
  /** The driver can't compile the engine's code for the GPU. */
  | { kind: 'old driver'; detail: string }
  /** The engine was built for other hardware, such as `the CPU`. */
  | { kind: 'other hardware'; builtFor: string }
  /** `detail` is a clause: a probe that hangs or dies, a program that doesn't tell its version */
  | { kind: 'broken'; detail: string }

/** An engine of this host, whether or not it can be used. */
export interface FoundEngine {
  name: 'embedded' | 'llama-server' | 'vllm'
  /** Names it in sentences, such as `vLLM` */
  title: string
  origin: EngineOrigin
  /** null for Berth's own engine */
  command: readonly [string, ...string[]] | null
  /** null if unknown */
  version: string | null
  /** False if it is built for GPUs alone */
  usesCpu: boolean
  /** Why it can be used on no device; null if it can */
  problem: EngineProblem | null
  /** The folder of its installation below `DATA_DIR/engines`; null if Berth hasn't installed it */
  installation: string | null
}

/** The builds of Berth's engine for NVIDIA GPUs */
export type CudaLibrary = 'cuda-13' | 'cuda-12'

/** What a probe of an engine on a device found. `library` is that of Berth's engine, if it has several. */
export type ProbeResult =
  | { works: true; library: CudaLibrary | null }
  | { works: false; problem: EngineProblem }

/** A GPU with what each engine can do on it. */
export interface DeviceReport {
  gpu: Gpu
  uses: readonly { engine: FoundEngine; result: ProbeResult }[]
}

/** Loads an engine on a GPU in a child process and computes there, or asks the engine's program. */
export type ProbeDevice = (engine: FoundEngine, gpu: Gpu) => Promise<ProbeResult>
