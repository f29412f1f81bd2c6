import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** An address that leads to a server, until a change breaks. */
export interface BrokenProxy {
  url: string
  /** The number of changes requested so far */
  changes: number
  /** Breaks off the connections that are open now */
  close: () => void
}

/**
 * Starts a proxy that calls `onBreak` instead of sending the change with this number to the server, or of
 * passing on its response.
 */
export async function startBrokenProxy(
  serverUrl: () => string,
  { at, answered }: { at: number; answered: boolean },
  onBreak: () => void,
): Promise<BrokenProxy> {
  const proxy = createServer((incoming, outgoing) => {
    const { method, url: path = '', headers } = incoming
    const isChange = method !== 'GET' && !path.endsWith('/plan')
    if (isChange) state.changes += 1
    const breaks = isChange && state.changes === at
    if (breaks && !answered) return onBreak()
    const { port } = new URL(serverUrl())
    const forwarded = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      if (breaks) {
        answer.resume()
        return onBreak()
      }
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const state = {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    changes: 0,
    close: () => proxy.closeAllConnections(),
  }
  return state
}
