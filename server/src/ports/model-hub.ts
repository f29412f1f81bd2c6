/** The port to a hub that keeps repositories of models. */

/** A file of a repository. */
export interface HubFile {
  /** Path inside the repository, which its owner chose */
  path: string
  bytes: number
}

/** A repository at one commit. */
export interface HubRepository {
  /** As the hub spells it: `owner/name` */
  name: string
  commit: string
  /** True if the hub gives the files only to accounts that accepted a license */
  isGated: boolean
  /** Such as `apache-2.0`; null when unknown */
  license: string | null
  /** What the owner says that the model does, such as `text-generation`; null when unknown */
  task: string | null
  files: readonly HubFile[]
}

export type HubFailure = 'not_found' | 'gated' | 'unreachable' | 'invalid'

/** A repository that can't be read. `message` is one sentence for a person. */
export class ModelHubError extends Error {
  readonly failure: HubFailure
  constructor(failure: HubFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.failure = failure
  }
}

/** Reads for one purpose, which share limits of bytes and time. Methods throw ModelHubError. */
export interface HubSession {
  /** Resolves to a repository at a branch, tag or commit. */
  describe(name: string, revision: string): Promise<HubRepository>
  /** Resolves to the bytes of a file from `start` up to, but without, `end`, at most the size. */
  read(repository: HubRepository, file: HubFile, start: number, end: number): Promise<Uint8Array>
}

export interface ModelHub {
  /** The host of the hub, for messages */
  readonly host: string
  /** Opens a session that reads with this token, or without one. */
  open(token: string | null): HubSession
  close(): Promise<void>
}
