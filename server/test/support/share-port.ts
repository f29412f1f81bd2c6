import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { listen } from './listen.ts'

/** An address for engines that leads to a port of this machine's loopback interface. */
export interface SharedPort {
  /** `host:port` */
  address: string
  close(): Promise<void>
}

/**
 * Shares a port at `host`, an address of this machine that engines reach. `findPort` may know it later than
 * the address is needed.
 */
export async function sharePort(host: string, findPort: () => number): Promise<SharedPort> {
  const sockets = new Set<Socket>()
  const server = createServer((incoming) => {
    const upstream = connect(findPort(), '127.0.0.1')
    incoming.pipe(upstream).pipe(incoming)
    for (const [socket, other] of [
      [incoming, upstream],
      [upstream, incoming],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy()).on('close', () => sockets.delete(socket))
    }
  })
  const port = await listen(server, 0, host)
  return {
    address: `${host}:${port}`,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}
