import type { Client } from './client.ts'

export interface StreamedEvent {
  event: string
  data: any
}

export interface EventStream {
  status: number
  headers: Headers
  /** Waits for the next event; null after the end of the stream */
  next(): Promise<StreamedEvent | null>
  /** Disconnects. */
  close(): void
}

/** Opens an event stream like `EventSource`. Comments are skipped and `data` is parsed as JSON. */
export async function openEventStream(url: string, path: string, client: Client): Promise<EventStream> {
  const leaving = new AbortController()
  const response = await fetch(url + path, {
    headers: { cookie: client.cookie(), accept: 'text/event-stream' },
    signal: leaving.signal,
  })
  const events = readEvents(response)
  return {
    status: response.status,
    headers: response.headers,
    async next() {
      const { done, value } = await events.next()
      return done ? null : value
    },
    close: () => leaving.abort(),
  }
}

async function* readEvents(response: Response): AsyncGenerator<StreamedEvent, undefined> {
  let pending = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    pending += decoder.decode(bytes, { stream: true })
    const blocks = pending.split('\n\n')
    pending = blocks.pop() ?? ''
    for (const block of blocks) {
      const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? []
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) }
    }
  }
}
