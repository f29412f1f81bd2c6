// The thread of `serve-health.ts`.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import type { HealthOrder } from './serve-health.ts'

const { beats, patienceMs } = workerData as HealthOrder
let seen = -1
let seenAt = 0

/** The process works, even if it is busy, as long as its heart has beaten within the patience. */
function isAlive(): boolean {
  const count = Atomics.load(beats, 0)
  if (count !== seen) {
    seen = count
    seenAt = performance.now()
  }
  return performance.now() - seenAt < patienceMs
}

setInterval(isAlive, patienceMs / 4)
const server = createServer((_request, response) => {
  const alive = isAlive()
  response.writeHead(alive ? 200 : 503, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ status: alive ? 'ok' : 'hung' }))
})
server.listen(0, '127.0.0.1', () => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  parentPort!.postMessage((server.address() as AddressInfo).port)
})
