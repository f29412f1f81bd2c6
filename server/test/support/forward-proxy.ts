import { createServer, request } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { listen } from './listen.ts'

/** A forward proxy that leads all names to one server for http, and to one for https. */
export interface ForwardProxy {
  url: string
  /** The targets of its requests, such as `CONNECT example.com:443` and `GET http://example.com` */
  targets: string[]
  close(): Promise<void>
}

/** `ports` are those of the two servers on loopback. */
export async function startForwardProxy(ports: { http: number; https: number }): Promise<ForwardProxy> {
  const targets: string[] = []
  const server = createServer((incoming: IncomingMessage, response: ServerResponse) => {
    const { origin, pathname, search, host } = new URL(incoming.url!)
    const { method = '' } = incoming
    targets.push(`${method} ${origin}`)
    const path = pathname + search
    const headers = { ...incoming.headers, host, connection: 'close' }
    const outgoing = request({ host: '127.0.0.1', port: ports.http, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    incoming.pipe(outgoing)
  })
  server.on('connect', (incoming: IncomingMessage, socket) => {
    targets.push(`CONNECT ${incoming.url}`)
    const outbound = connect(ports.https, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(outbound).pipe(socket)
    })
    for (const [one, other] of [
      [socket, outbound],
      [outbound, socket],
    ] as const) {
      one.on('error', () => {}).on('close', () => other.destroy())
    }
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    targets,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
