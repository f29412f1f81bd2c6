import { utimes } from 'node:fs/promises'
import type { Dispatcher } from 'undici'
import { openProxyAgent } from '../../../../base/proxy.ts'
import { createFileHasher } from '../../../../base/file-hasher.ts'
import { findShortage } from '../../../../base/local-shortage.ts'
import type { EngineObservation } from '../../../../ports/model-runtime.ts'
import { hasErrorCode } from '../files.ts'
import type { LocalRuntimeSettings, RetrySettings } from '../settings.ts'
import { isPresent } from './file-downloads.ts'
import { readSnapshot } from './snapshot.ts'
import { createWeightCache } from './weight-cache.ts'
import type { WeightCache } from './weight-cache.ts'
import { describeFetch, runFetch, toDownloadError } from './weight-fetch.ts'
import type { FetchContext, WeightFetch } from './weight-fetch.ts'
import { locateRepository, locateWeights } from './weight-files.ts'
import type { LocatedModel, WeightFile, WeightFolder } from './weight-files.ts'

/** A model or a LoRA, with the size of its weights in bytes; null when unknown. */
export type StoredWeights = LocatedModel & { weightBytes: number | null }

/** The cache of model weights and its downloads. */
export interface WeightStore {
  /**
   * Returns the path of cached weights: a file, or the folder of several. Otherwise makes sure that a
   * download is running and returns null. `hubToken` replaces the token of the settings.
   */
  ensure(engineId: string, model: StoredWeights, hubToken?: string | null): Promise<string | null>
  /** The state of an engine's download; null before it starts and after it succeeds. */
  observe(engineId: string): EngineObservation | null
  /** Cancels the download for an engine, or clears its failure. Partial files are kept. */
  cancel(engineId: string): Promise<void>
  cache: WeightCache
  /** Cancels all downloads. */
  close(): Promise<void>
}

interface StoreContext extends FetchContext {
  settings: LocalRuntimeSettings
}

const defaultRetry: RetrySettings = { attempts: 5, baseDelayMs: 1000, idleTimeoutMs: 60_000 }

/** `listNeeded` returns the paths that engines need, including those that wait for a download. */
export function createWeightStore(
  settings: LocalRuntimeSettings,
  listNeeded: () => Promise<readonly string[]>,
): WeightStore {
  const retry = settings.retry ?? defaultRetry
  const dispatcher = createDispatcher(settings, retry)
  const cache = createWeightCache(settings, listNeeded)
  const hasher = createFileHasher()
  const context: StoreContext = {
    settings,
    hasher,
    logger: settings.logger,
    cache,
    connection: { dispatcher, retry },
    downloads: new Map(),
    fetches: new Map(),
  }
  return {
    ensure: (engineId, model, hubToken) => ensureWeights(withToken(context, hubToken), engineId, model),
    observe(engineId) {
      const fetch = context.fetches.get(engineId)
      return fetch === undefined ? null : describeFetch(fetch)
    },
    cancel: (engineId) => cancelFetch(context, engineId),
    cache,
    async close() {
      const open = [...context.fetches.values()]
      for (const fetch of open) fetch.controller.abort()
      await Promise.all(open.map((fetch) => fetch.done))
      await Promise.all([dispatcher.destroy(), hasher.close()])
    },
  }
}

function withToken(context: StoreContext, token: string | null | undefined): StoreContext {
  if (token === undefined) return context
  const { settings } = context
  return { ...context, settings: { ...settings, huggingFace: { ...settings.huggingFace, token } } }
}

function createDispatcher({ proxy }: LocalRuntimeSettings, retry: RetrySettings): Dispatcher {
  return openProxyAgent(proxy, {
    bodyTimeout: retry.idleTimeoutMs,
    headersTimeout: retry.idleTimeoutMs,
    connect: { timeout: Math.min(10_000, retry.idleTimeoutMs) },
  })
}

async function ensureWeights(
  context: StoreContext,
  engineId: string,
  model: StoredWeights,
): Promise<string | null> {
  const { settings, fetches } = context
  if (fetches.has(engineId)) return null
  const fetch = openFetch(model)
  try {
    const repository = locateRepository(model, settings)
    const files = await listKnownFiles(settings, repository, model)
    const present = await Promise.all(files.map(isPresent))
    if (files.length > 0 && present.every(Boolean) && (await markAsUsed(files))) {
      return repository?.folder ?? files[0]?.path ?? null
    }
    // The files of a repository may have changed since they were listed.
    if (repository === null) fetch.files = files
    else fetch.repository = repository
  } catch (error) {
    if (findShortage(error) !== null) throw error
    fetch.failure = toDownloadError(error)
  }
  fetches.set(engineId, fetch)
  if (fetch.failure === null) fetch.done = runFetch(context, engineId, fetch)
  return null
}

function openFetch({ weightBytes }: StoredWeights): WeightFetch {
  return {
    repository: null,
    files: [],
    index: 0,
    finishedBytes: 0,
    expectedBytes: weightBytes,
    current: null,
    controller: new AbortController(),
    failure: null,
    done: Promise.resolve(),
  }
}

async function listKnownFiles(
  settings: LocalRuntimeSettings,
  repository: WeightFolder | null,
  model: StoredWeights,
): Promise<WeightFile[]> {
  if (repository === null) return locateWeights(model, settings)
  return ((await readSnapshot(repository.folder)) ?? []).map(repository.toFile)
}

async function cancelFetch({ fetches }: FetchContext, engineId: string): Promise<void> {
  const fetch = fetches.get(engineId)
  if (fetch === undefined) return
  fetches.delete(engineId)
  fetch.controller.abort()
  await fetch.done
}

/** Sets the time that the cache evicts by. Returns false if a file has just been evicted. */
async function markAsUsed(files: readonly WeightFile[]): Promise<boolean> {
  const now = new Date()
  try {
    for (const { path, source } of files) if (source !== null) await utimes(path, now, now)
    return true
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return false
    throw error
  }
}
