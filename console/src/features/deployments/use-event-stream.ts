import { useEffect, useEffectEvent } from 'react'

const firstPause = 1_000
const longestPause = 15_000

interface EventStream<Item> {
  /** The name of the events that hold items */
  event: string
  /** While false nothing is connected. */
  enabled: boolean
  onItem: (item: Item) => void
  /** Called at each connection, the first and those after a loss. */
  onOpen?: () => void
  /** Called when the connection is lost; it is picked up again by itself. */
  onLost?: () => void
}

/**
 * Follows a route of server-sent events while the component and the browser's tab are shown. A lost connection comes back: the
 * browser sees to it after a network fault, this hook where an answer was not a stream.
 */
export function useEventStream<Item>(path: string, { event, enabled, ...handlers }: EventStream<Item>) {
  const onItem = useEffectEvent((item: Item) => handlers.onItem(item))
  const onOpen = useEffectEvent(() => handlers.onOpen?.())
  const onLost = useEffectEvent(() => handlers.onLost?.())
  useEffect(() => {
    if (!enabled) return
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let pause = firstPause
    const disconnect = () => {
      clearTimeout(timer)
      source?.close()
      source = undefined
    }
    const connect = () => {
      disconnect()
      const opened = new EventSource(path)
      source = opened
      opened.addEventListener('open', () => {
        pause = firstPause
        onOpen()
      })
      opened.addEventListener(event, ({ data }: MessageEvent<string>) => onItem(JSON.parse(data) as Item))
      opened.addEventListener('error', () => {
        onLost()
        if (opened.readyState !== EventSource.CLOSED || source !== opened) return
        timer = setTimeout(connect, pause)
        pause = Math.min(pause * 2, longestPause)
      })
    }
    // A browser has few connections for each host: tabs in the background leave theirs to others.
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
  }, [path, event, enabled])
}
