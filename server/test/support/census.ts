import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, vi } from 'vitest'
import type { MisbehavingEngine } from './misbehaving-engine.ts'
import type { TestServer } from './server.ts'

const watched = ['TCPSocketWrap', 'TCPServerWrap', 'Timeout', 'Immediate', 'GetAddrInfoReqWrap']
/** What the engine and the tests themselves may come to hold meanwhile. */
const tolerance = 24 * 1024 * 1024

/** Counts what this process holds now: sockets, timers and memory. */
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
      // Fewer is fine: an idle connection to the database may have ended.
      const grown = () => count().filter(([kind, now]) => now > before.get(kind)!)
      await expect.poll(grown, { timeout: 20_000 }).toEqual([])
      await expect.poll(() => measure() - memory, { timeout: 20_000 }).toBeLessThan(tolerance)
    },
  }
}

/** Waits until nothing of any request is left in the gateway of `server`, nor at its `engine`. */
export async function waitUntilDrained(server: TestServer, engine: MisbehavingEngine): Promise<void> {
  const { inference } = server.application
  const left = () => [
    inference.inFlight.size,
    inference.admission.queued(),
    inference.client.size(),
    engine.open(),
  ]
  await vi.waitFor(() => expect(left()).toEqual([0, 0, 0, 0]), { timeout: 20_000 })
}
