import type { Cores } from './machine.ts'
import type { WorkloadName } from './workloads.ts'

/** The port, upstream and files of a target. */
export interface Surroundings {
  cores: Cores
  /** Folder for configurations and logs */
  folder: string
  upstreamPort: number
  cleanup: AsyncDisposableStack
}

/** `all`: it composes responses, with more fields and its own times. `model`: it only renames the model. */
export type Rewrites = 'model' | 'all'

export interface Running {
  /** The processes whose CPU and memory are the target's */
  pids: number[]
  /** The processes that work for it elsewhere, such as its database's */
  listHelpers?: () => number[]
  /** The port for whole responses and for streams; one that needs different settings for them has two */
  ports: { whole: number; stream: number }
  /** What callers must send along, as lines of a head */
  headers: Record<string, string>
  /** What it changes in responses; omitted for nothing */
  rewrites?: Rewrites | undefined
  stop(): Promise<void>
}

/** Something that requests are sent to. */
export interface Target {
  name: string
  title: string
  /** Workloads that it runs (default: all) */
  workloads?: readonly WorkloadName[] | undefined
  /** Seconds of load before anything is measured */
  warmup: number
  /** Its version, for the report */
  version?: () => string
  /** What this machine lacks to run it and how to get it, or null. Such a target is skipped. */
  explainMissing?: () => string | null
  /** Prepares what all its processes share and returns what starts one; every start is a fresh process. */
  prepare(surroundings: Surroundings): Promise<() => Promise<Running>>
}
