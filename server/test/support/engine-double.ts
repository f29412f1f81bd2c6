import type { Server } from 'node:net'
import { listen } from './listen.ts'

/** What all that stands in an engine's place has. */
export interface EngineDouble<Request> {
  url: string
  /** In the order in which they came */
  requests: Request[]
  /** The newest request; throws when there was none */
  last(): Request
  close(): Promise<void>
}

/** Puts a server in an engine's place; it adds to `requests` itself, and `closeConnections` ends those that are open. */
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
      if (request === undefined) throw new Error('the engine was asked nothing')
      return request
    },
    async close() {
      closeConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
