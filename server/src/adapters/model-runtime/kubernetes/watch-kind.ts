import { ADD, DELETE, ERROR, ListWatch, UPDATE, Watch } from '@kubernetes/client-node'
import type { KubeConfig, KubernetesListObject, KubernetesObject } from '@kubernetes/client-node'

/** The objects of one kind, as a watch keeps them. */
export interface WatchedKind<T extends KubernetesObject> {
  /** False before the first list and during interruptions: the objects may be out of date. */
  readonly isCurrent: boolean
  get(name: string): T | undefined
  list(): readonly T[]
  close(): void
}

export interface WatchOptions<T extends KubernetesObject> {
  config: KubeConfig
  namespace: string
  /** Path of the list below the API server's address */
  path: string
  labelSelector: string
  list: () => Promise<KubernetesListObject<T>>
  onChange: (object: T) => void
  onInterruption: (error: unknown) => void
}

const firstDelay = 1_000
const lastDelay = 30_000

/**
 * Lists and watches the objects of a kind. The library lists again after a 410, and reconnects after a close
 * or 30 s of silence. After other errors this tries again with backoff.
 */
export function watchKind<T extends KubernetesObject>(options: WatchOptions<T>): WatchedKind<T> {
  const { config, namespace, path, labelSelector, list, onChange, onInterruption } = options
  const watch = new ListWatch<T>(path, openWatch(config), list, false, labelSelector)
  let isCurrent = false
  let hasFailed = false
  let isClosed = false
  let delay = firstDelay
  let timer: NodeJS.Timeout | undefined
  const start = async () => {
    hasFailed = false
    await watch.start().catch(interrupt)
    isCurrent = !hasFailed
  }
  const interrupt = (error: unknown) => {
    if (isClosed) return
    isCurrent = false
    hasFailed = true
    onInterruption(error)
    clearTimeout(timer)
    timer = setTimeout(() => void start(), delay).unref()
    delay = Math.min(2 * delay, lastDelay)
  }
  const change = (object: T) => {
    delay = firstDelay
    onChange(object)
  }
  for (const event of [ADD, UPDATE, DELETE] as const) watch.on(event, change)
  watch.on(ERROR, interrupt)
  void start()
  return {
    get isCurrent() {
      return isCurrent
    },
    get: (name) => watch.get(name, namespace),
    list: () => watch.list(namespace),
    close() {
      isClosed = true
      clearTimeout(timer)
      void watch.stop()
    },
  }
}

/** Reports every failure to connect. The library handles a rejection only at its first connection. */
function openWatch(config: KubeConfig): Watch {
  const watch = new Watch(config)
  const connect = watch.watch.bind(watch)
  watch.watch = async (path, query, onEvent, onEnd) => {
    try {
      return await connect(path, query, onEvent, onEnd)
    } catch (error) {
      onEnd(error)
      return new AbortController()
    }
  }
  return watch
}
