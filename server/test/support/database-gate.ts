import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { listen } from './listen.ts'

/** A TCP proxy in front of a database, which a test can make unreachable. */
export interface DatabaseGate {
  /** Connection string through the proxy */
  url: string
  /** Cuts all connections and refuses new ones */
  shut(): Promise<void>
  open(): Promise<void>
  /** Leads new connections to another server. Open ones stay where they are. */
  lead(databaseUrl: string): void
  close(): Promise<void>
}

export async function startGate(databaseUrl: string): Promise<DatabaseGate> {
  let target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const server = createServer((inbound) => {
    const outbound = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [inbound, outbound],
      [outbound, inbound],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  const port = await listen(server)
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${port}`

  async function shut(): Promise<void> {
    if (!server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }

  return {
    url: url.href,
    shut,
    open: async () => void (await listen(server, port)),
    lead: (otherUrl) => void (target = new URL(otherUrl)),
    close: shut,
  }
}
