import type { Server } from 'node:net'
import { listen } from './listen.ts'

/** Berth asks here what an aborted request used. The doubles don't know it, and don't keep the question. */
export const countPath = '/v1/requests/'

/** The common interface of all engine doubles. */
export interface EngineDouble<Request> {
  url: string
  /** In order of arrival */
  requests: Request[]
  /** The latest request. Throws if the engine received no request. */
  last(): Request
  close(): Promise<void>
}

/**
 * Starts a server as an engine double. The server appends to `requests`; `closeConnections` closes open
 * connections.
 */
export async function startEngineDouble<Request>(
  server: Server,
  requests: Request[],
  closeConnections: () => void,
): Promise<EngineDouble<Request>> {
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    last() {
      const request = requests.at(-1)
      if (request === undefined) throw new Error('the engine received no request')
      return request
    },
    async close() {
      closeConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
