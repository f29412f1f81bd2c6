/** What the local runtime writes to the server's log. */
export interface RuntimeLogger {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

/** How a broken download is tried again. */
export interface RetrySettings {
  /** Tries without a byte of progress before a download fails; twice as many once a part is here */
  attempts: number
  /** First wait in milliseconds; doubled each time, up to a minute */
  baseDelayMs: number
  /** Silence in milliseconds after which a connection counts as dead */
  idleTimeoutMs: number
}

/** Settings of the runtime that runs engines as processes of this host. */
export interface LocalRuntimeSettings {
  /** `DATA_DIR`: weights and the engines' state are kept below it */
  dataDirectory: string
  /** The folder that relative `file` weights of the catalog start from */
  catalogDirectory: string
  huggingFace: {
    /** `HF_ENDPOINT`, default `https://huggingface.co` */
    endpoint: string
    /** `HF_TOKEN`, for models whose license must be accepted */
    token: string | null
  }
  logger: RuntimeLogger
  /**
   * The server's environment. Of it an engine gets what finds programs, folders and GPUs, and nothing else.
   */
  environment: Record<string, string | undefined>
  /** Memory that engines may share, in bytes; default: the container's limit or the host's memory */
  memoryBytes?: number | undefined
  /** Engines that run at a time as a rule, which share the cores; default 2 */
  expectedEngines?: number | undefined
  /** Proxies for downloads as `http://host:port`, and hosts (comma separated) reached without; default none */
  proxy?: { http: string | null; https: string | null; exceptions: string | null } | undefined
  retry?: RetrySettings | undefined
  /** Milliseconds that a model may take to load before it counts as failed; default 20 minutes */
  loadingDeadlineMs?: number | undefined
  /** The engine's program, run by this same Node; default `engine/src/main.ts` */
  engineProgram?: string | undefined
}
