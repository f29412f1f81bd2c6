import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** A network between a browser and the server that can be cut. */
export interface CutNetwork {
  /** The server's origin behind this network */
  url: string
  /** Cuts all connections, and refuses new ones, after the browser has sent so many more bytes. */
  cutAfter(bytes: number): void
  isCut(): boolean
  restore(): void
  close(): Promise<void>
}

/** Starts a proxy of connections to the server. */
export async function startCutNetwork(target: string): Promise<CutNetwork> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let left = Infinity
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  const proxy = createServer((browser) => {
    if (left <= 0) return void browser.destroy()
    const server = connect(Number(port), hostname)
    for (const socket of [browser, server]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        browser.destroy()
        server.destroy()
      })
    }
    browser.on('data', (bytes) => {
      server.write(bytes.subarray(0, Math.min(bytes.length, left)))
      left -= bytes.length
      // What was passed on arrives before the end of the connection.
      if (left <= 0) server.end(cut)
    })
    server.pipe(browser)
  })
  await new Promise<void>((resolve) => proxy.listen(0, 'localhost', resolve))
  return {
    url: `http://localhost:${(proxy.address() as AddressInfo).port}`,
    cutAfter: (bytes) => (left = bytes),
    isCut: () => left <= 0,
    restore: () => (left = Infinity),
    close: async () => {
      cut()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}
