import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, vi } from 'vitest'
import type { MisbehavingEngine } from './misbehaving-engine.ts'
import type { TestServer } from './server.ts'

const watched = ['TCPSocketWrap', 'TCPServerWrap', 'Timeout', 'Immediate', 'GetAddrInfoReqWrap']
/** Memory in bytes that the engine double and the tests may use themselves. */
const tolerance = 24 * 1024 * 1024

/** Counts the sockets, timers and memory that this process holds now. */
export async function createProcessCensus(): Promise<{ expectUnchanged(): Promise<void> }> {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const count = () => {
    const active = process.getActiveResourcesInfo()
    return watched.map((kind) => [kind, active.filter((each) => each === kind).length] as const)
  }
  const measure = () => {
    collectGarbage()
    const { heapUsed, arrayBuffers, external } = process.memoryUsage()
    return heapUsed + arrayBuffers + external
  }
  const before = new Map(count())
  const memory = measure()
  return {
    async expectUnchanged() {
      // Lower counts are fine: an idle database connection may have closed.
      const grown = () => count().filter(([kind, now]) => now > before.get(kind)!)
      await expect.poll(grown).toEqual([])
      await expect.poll(() => measure() - memory).toBeLessThan(tolerance)
    },
  }
}

/** Waits until no request is left in the gateway of `server` or at its `engine`. */
export async function waitUntilDrained(server: TestServer, engine: MisbehavingEngine): Promise<void> {
  const { inference } = server.application
  const remaining = () => [
    inference.inFlight.total,
    inference.admission.queued,
    inference.client.size(),
    inference.outside.size(),
    engine.open(),
  ]
  await vi.waitFor(() => expect(remaining().filter((count) => count !== 0)).toEqual([]), { timeout: 20_000 })
}
