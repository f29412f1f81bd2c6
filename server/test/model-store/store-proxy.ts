import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** A connection to the store that a test can disturb. */
export interface StoreProxy {
  address: string
  /** `hang`: requests get no answer. `refuse`: there are no connections. */
  mode: 'pass' | 'hang' | 'refuse'
  /** Called instead of the answer to the next request that matches */
  intercepted: { request: RegExp; run: () => void } | null
  close(): Promise<void>
}

export async function startStoreProxy(): Promise<StoreProxy> {
  const store = new URL(process.env['TEST_S3']!)
  const sockets = new Set<Socket>()
  const server = createServer((caller) => {
    sockets.add(caller.on('error', () => {}).once('close', () => sockets.delete(caller)))
    if (proxy.mode === 'refuse') return void caller.destroy()
    const upstream = connect(Number(store.port), store.hostname).on('error', () => caller.destroy())
    let isMatch = false
    caller.on('data', (bytes) => {
      const line = bytes.subarray(0, 500).toString('latin1').split('\r\n')[0]!
      if (proxy.intercepted?.request.test(line) === true) isMatch = true
      if (proxy.mode === 'pass') upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (isMatch && bytes.toString('latin1').startsWith('HTTP/1.1 200')) {
        proxy.intercepted?.run()
        proxy.intercepted = null
      } else caller.write(bytes)
    })
    caller.once('close', () => upstream.destroy())
    upstream.once('close', () => caller.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const proxy: StoreProxy = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mode: 'pass',
    intercepted: null,
    async close() {
      for (const socket of sockets) socket.destroy()
      await once(server.close(), 'close')
    },
  }
  return proxy
}
