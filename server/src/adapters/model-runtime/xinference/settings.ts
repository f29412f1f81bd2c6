import type { InstanceType } from '../../../ports/model-runtime.ts'

/** What the runtime writes to the server's log. */
export interface RuntimeLogger {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

/** Settings of the runtime that launches models on Xinference clusters. */
export interface XinferenceSettings {
  /** Addresses of the supervisors such as `http://10.0.0.5:9997`, each of a cluster of its own */
  supervisors: string[]
  /** The user that Berth signs in as, on every supervisor; null: they ask for none */
  credentials: { username: string; password: string } | null
  /** Known instance types, whose names are given to GPUs that match them */
  instanceTypes: readonly InstanceType[]
  logger: RuntimeLogger
  /** Milliseconds that a supervisor may take to answer; default 15 s */
  answerTimeoutMs?: number | undefined
  /** Milliseconds without progress after which a download or a start counts as failed; default 20 minutes */
  stallMs?: number | undefined
  /** Milliseconds between two looks at a model's events when they are followed; default 2 s */
  followIntervalMs?: number | undefined
}
