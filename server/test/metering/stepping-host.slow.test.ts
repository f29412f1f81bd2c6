import { afterAll, beforeAll, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { billOnSteppingHost } from './stepping-host.ts'

let server: TestServer
let client: Client
beforeAll(async () => {
  // The provider of the hardware has a clock of its own, which is right.
  const runtime = createScriptedRuntime(undefined, () => server.application.clock())
  server = await startTestServer({ runtime })
  client = await registerClient(server.url)
})
afterAll(() => server.close())

const firstSeed = Math.floor(Math.random() * 1_000_000)

test(`each second that is billed by hosts whose clocks step is one that passed (100 from seed ${firstSeed})`, async () => {
  for (let seed = firstSeed; seed < firstSeed + 100; seed += 1) {
    await billOnSteppingHost(server, client, seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error })
    })
  }
}, 600_000)
