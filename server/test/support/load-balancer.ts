import { Agent, createServer, request as forward } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { listen } from './listen.ts'

export interface LoadBalancer {
  url: string
  /** Sends requests to the server at this address while its `/readyz` is answered with 200; resolves when it is for the first time */
  add(url: string): Promise<void>
  /** Forgets a server that is gone */
  remove(url: string): void
  close(): Promise<void>
}

const lookMilliseconds = 50

/** A reverse proxy that hands out requests in turn over connections that it keeps open, and never sends one twice. */
export async function startLoadBalancer(): Promise<LoadBalancer> {
  const agent = new Agent({ keepAlive: true })
  const backends = new Map<string, { ready: boolean; timer: NodeJS.Timeout }>()
  let turn = 0

  function pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const ready = [...backends].flatMap(([url, backend]) => (backend.ready ? [url] : []))
    const backend = ready[turn++ % ready.length]
    if (backend === undefined) return void outgoing.writeHead(503).end()
    const { method = '', headers } = incoming
    const upstream = forward(backend + incoming.url, { agent, method, headers }, (answer) => {
      // Each hop has connections of its own.
      const { connection: _, ...kept } = answer.headers
      outgoing.writeHead(answer.statusCode ?? 502, kept)
      answer.pipe(outgoing)
    })
    upstream.on('error', () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()))
    incoming.pipe(upstream)
  }

  const server = createServer(pass)
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    add(url) {
      const first = Promise.withResolvers<void>()
      const look = async () => {
        const status = await fetch(`${url}/readyz`).then(
          (answer) => answer.status,
          () => 0,
        )
        backend.ready = status === 200
        if (backend.ready) first.resolve()
        if (backends.get(url) === backend) backend.timer = setTimeout(() => void look(), lookMilliseconds)
      }
      const backend = { ready: false, timer: setTimeout(() => void look()) }
      backends.set(url, backend)
      return first.promise
    },
    remove(url) {
      clearTimeout(backends.get(url)?.timer)
      backends.delete(url)
    },
    async close() {
      for (const { timer } of backends.values()) clearTimeout(timer)
      backends.clear()
      agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
