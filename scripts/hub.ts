/** Reads repositories from a hub with Hugging Face's API, for the tools that maintain the catalog. */

import pRetry, { AbortError } from 'p-retry'
import { z } from 'zod'
import { isCommit } from '../server/src/features/catalog/is-commit.ts'
import type { CatalogVariant } from '../server/src/features/catalog/model.ts'

const timeoutMs = 30_000

const snapshotSchema = z.object({
  sha: z.string().refine(isCommit),
  gated: z.union([z.boolean(), z.string()]).default(false),
  siblings: z.array(z.object({ rfilename: z.string(), size: z.number().nullish() })),
  gguf: z.object({ context_length: z.number().optional() }).nullish(),
})

/** A repository at one commit. `gated` is false, or the way in which the owner grants access. */
export type Snapshot = z.output<typeof snapshotSchema>

/** A repository that can't be read. `isFinal` is false if the Hub did not answer and may do so later. */
export class HubError extends Error {
  readonly isFinal: boolean
  constructor(message: string, isFinal: boolean) {
    super(message)
    this.isFinal = isFinal
  }
}

/** Reads repositories, each once, and retries what may succeed later. */
export class Hub {
  readonly endpoint: string
  readonly #headers: Record<string, string>
  readonly #answers = new Map<string, Promise<unknown>>()

  constructor({ endpoint, token }: { endpoint: string; token: string | null }) {
    this.endpoint = endpoint
    this.#headers = token === null ? {} : { authorization: `Bearer ${token}` }
  }

  /** Why nothing can be read from the Hub now; null if it answers requests. */
  async findObstacle(): Promise<string | null> {
    const signal = AbortSignal.timeout(timeoutMs)
    return fetch(`${this.endpoint}/api/models?limit=1`, { headers: this.#headers, signal }).then(
      ({ status }) => (status < 500 ? null : `it answered ${status}.`),
      (error: unknown) => `${String((error as Error).cause ?? error)}.`,
    )
  }

  /** The files of a repository at a revision, with their sizes. Throws HubError. */
  async findSnapshot(repo: string, revision: string): Promise<Snapshot> {
    const path = `/api/models/${repo}/revision/${encodeURIComponent(revision)}?blobs=true`
    const parsed = snapshotSchema.safeParse(await this.#readOnce(path, repo))
    if (parsed.success) return parsed.data
    throw new HubError(`${repo}: the Hub's answer names no commit and files.`, true)
  }

  /** A JSON file of a repository, of any shape. Throws HubError. */
  async readJsonFile(repo: string, revision: string, file: string): Promise<unknown> {
    return this.#readOnce(`/${repo}/resolve/${encodeURIComponent(revision)}/${file}`, repo)
  }

  #readOnce(path: string, repo: string): Promise<unknown> {
    const answer =
      this.#answers.get(path) ?? pRetry(() => this.#read(path, repo), { retries: 2, minTimeout: 2_000 })
    this.#answers.set(path, answer)
    return answer
  }

  /** Throws an AbortError if another attempt can't help. */
  async #read(path: string, repo: string): Promise<unknown> {
    const signal = AbortSignal.timeout(timeoutMs)
    const init = { headers: this.#headers, signal }
    const response = await fetch(`${this.endpoint}${path}`, init).catch((error: unknown) => {
      throw new HubError(`${repo}: ${String((error as Error).cause ?? error)}.`, false)
    })
    const { ok, status } = response
    if (ok) return response.json().catch(() => null)
    const reason = `${repo}: the Hub answered ${status}.`
    if (status === 429 || status >= 500) throw new HubError(reason, false)
    const isLocked = status === 401 || status === 403
    const remedy = isLocked
      ? `${reason} It does not exist, or HF_TOKEN must be of a user who accepted its license.`
      : reason
    throw new AbortError(new HubError(remedy, true))
  }
}

/** What a variant needs and a repository lacks, as a sentence; null if nothing. */
export function describeMissingFiles(
  variant: CatalogVariant,
  repo: string,
  snapshot: Snapshot,
): string | null {
  const { weights, format, engines } = variant
  if (weights.kind !== 'huggingface') return null
  const projector = format === 'ggufv2' ? engines.llamaCpp?.projector : undefined
  const isWhole = weights.files.length === 0
  const needed = isWhole ? ['config.json'] : [...weights.files, ...(projector ? [projector] : [])]
  const present = new Set(snapshot.siblings.map(({ rfilename }) => rfilename))
  const missing = needed.filter((file) => !present.has(file))
  if (missing.length > 0) return `${repo} has no ${missing.join(', ')}.`
  const hasWeights = [...present].some((file) => /\.(safetensors|bin)$/.test(file))
  return isWhole && !hasWeights ? `${repo} has no weights.` : null
}
