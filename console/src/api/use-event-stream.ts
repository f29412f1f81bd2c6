import { useEffect, useEffectEvent, useMemo } from 'react'
import { toUrl } from './client.ts'
import type { ResponseBody, PathTo, UrlInput } from '../operations.ts'

const initialDelay = 3_000
const maxDelay = 15_000

/** An operation that lists items as JSON, or streams new ones as events. */
type StreamPath = PathTo<'GET', 'text/event-stream'>
type ItemOf<Path extends StreamPath> =
  ResponseBody<'GET', Path> extends { items: (infer Item)[] } ? Item : never

interface EventStream<Path extends StreamPath> {
  input: UrlInput<'GET', Path>
  /** The name of the events that carry items. */
  event: string
  /** Disconnects while false. */
  enabled: boolean
  /** Connects again when it changes, for a stream whose sources are chosen when it begins. */
  sources?: string
  onItem: (item: ItemOf<Path>) => void
  /** Called after each connect and reconnect. */
  onOpen?: () => void
  /** Called when the connection is lost or refused, with how often in a row; it reconnects automatically. */
  onLost?: (times: number) => void
}

/** Follows server-sent events while mounted and visible; reconnects with a growing delay, unlike browsers. */
export function useEventStream<const Path extends StreamPath>(
  path: Path,
  { input, event, enabled, sources, ...handlers }: EventStream<Path>,
) {
  const url = toUrl(path, input)
  const stream = useMemo(() => ({ url, sources }), [url, sources])
  const onItem = useEffectEvent((item: ItemOf<Path>) => handlers.onItem(item))
  const onOpen = useEffectEvent(() => handlers.onOpen?.())
  const onLost = useEffectEvent((times: number) => handlers.onLost?.(times))
  useEffect(() => {
    if (!enabled) return
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let losses = 0
    const disconnect = () => {
      clearTimeout(timer)
      source?.close()
      source = undefined
    }
    const connect = () => {
      disconnect()
      const opened = new EventSource(stream.url)
      source = opened
      opened.addEventListener('open', () => {
        losses = 0
        onOpen()
      })
      opened.addEventListener(event, ({ data }: MessageEvent<string>) =>
        onItem(JSON.parse(data) as ItemOf<Path>),
      )
      opened.addEventListener('error', () => {
        if (source !== opened) return
        opened.close()
        losses += 1
        onLost(losses)
        timer = setTimeout(connect, Math.min(initialDelay * 2 ** (losses - 1), maxDelay))
      })
    }
    // Browsers limit connections per host, so background tabs disconnect.
    const onVisibilityChange = () => {
      if (document.visibilityState === 'hidden') disconnect()
      else if (source === undefined) connect()
    }
    onVisibilityChange()
    document.addEventListener('visibilitychange', onVisibilityChange)
    return () => {
      document.removeEventListener('visibilitychange', onVisibilityChange)
      disconnect()
    }
  }, [stream, event, enabled])
}
