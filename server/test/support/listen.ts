import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

/** Makes a server listen, by default on loopback, and returns its port. Default: a free port. */
export async function listen(server: Server, port = 0, host = '127.0.0.1'): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
