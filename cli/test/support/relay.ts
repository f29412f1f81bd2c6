import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** An address that leads to a server, and that can go away and return, as a server that restarts. */
export interface Relay {
  url: string
  /** Closes all connections and refuses new ones */
  stop(): Promise<void>
  /** Listens again at the same port */
  start(): Promise<void>
}

/** Starts a relay to the server at a URL. */
export async function startRelay(url: string): Promise<Relay> {
  const { hostname, port: serverPort } = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((incoming) => {
    const outgoing = connect(Number(serverPort), hostname)
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from)
      from
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(from)
          to.destroy()
        })
      from.pipe(to)
    }
  })
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    start: () => listen(port),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
