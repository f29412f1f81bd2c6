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

test.each([1, 2, 3, 4, 5])(
  'each second that is billed by a host whose clock steps is one that passed (seed %i)',
  (seed) => billOnSteppingHost(server, client, seed),
)
