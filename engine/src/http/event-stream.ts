import type { ServerResponse } from 'node:http'

/** A stream of server-sent events. */
export interface EventStream {
  send: (data: unknown) => void
  /** Resolves when the reader has drained the buffer or disconnected. */
  drained: () => Promise<void> | void
  /** Sends `[DONE]` and ends the response. */
  finish: () => void
}

/** Starts an event stream on an unused response. */
export function openEventStream(response: ServerResponse): EventStream {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  })
  return {
    send(data) {
      if (!response.destroyed) response.write(`data: ${JSON.stringify(data)}\n\n`)
    },
    drained() {
      if (!response.writableNeedDrain || response.destroyed) return
      return new Promise((resolve) => {
        const done = (): void => {
          response.off('drain', done).off('close', done)
          resolve()
        }
        response.on('drain', done).on('close', done)
      })
    },
    finish() {
      if (!response.destroyed) response.end('data: [DONE]\n\n')
    },
  }
}
