import { Agent, createServer, request as forward } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { listen } from './listen.ts'

export interface LoadBalancer {
  url: string
  /**
   * Adds a server that receives requests while its `/readyz` returns 200. Resolves when it is first ready.
   */
  add(url: string): Promise<void>
  /** Removes a stopped server */
  remove(url: string): void
  close(): Promise<void>
}

const probeMilliseconds = 50

/** A round-robin reverse proxy with keep-alive connections. It never retries a request. */
export async function startLoadBalancer(): Promise<LoadBalancer> {
  const agent = new Agent({ keepAlive: true })
  const backends = new Map<string, { ready: boolean; timer: NodeJS.Timeout }>()
  let next = 0

  function proxyRequest(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const ready = [...backends].flatMap(([url, backend]) => (backend.ready ? [url] : []))
    const backend = ready[next++ % ready.length]
    if (backend === undefined) return void outgoing.writeHead(503).end()
    const { method = '', headers } = incoming
    const upstream = forward(backend + incoming.url, { agent, method, headers }, (answer) => {
      // `Connection` is a hop-by-hop header.
      const { connection: _, ...kept } = answer.headers
      outgoing.writeHead(answer.statusCode ?? 502, kept)
      answer.pipe(outgoing)
    })
    upstream.on('error', () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()))
    incoming.pipe(upstream)
  }

  const server = createServer(proxyRequest)
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    add(url) {
      const first = Promise.withResolvers<void>()
      const probe = async () => {
        const status = await fetch(`${url}/readyz`).then(
          (answer) => answer.status,
          () => 0,
        )
        backend.ready = status === 200
        if (backend.ready) first.resolve()
        if (backends.get(url) === backend) backend.timer = setTimeout(() => void probe(), probeMilliseconds)
      }
      const backend = { ready: false, timer: setTimeout(() => void probe()) }
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
