import { afterAll, beforeAll, describe } from 'vitest'
import { testAgentRoutes } from '../support/agent-routes.ts'
import type { AgentDeployment } from '../support/agent-routes.ts'
import { registerClient } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const command = process.env['LLAMA_SERVER_COMMAND']

describe.skipIf(command === undefined)('the routes for agents on LLAMA_SERVER_COMMAND', () => {
  const used = { model: 'berth-tiny', echoes: false } as AgentDeployment
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ settings: { LLAMA_SERVER_COMMAND: command! } })
    used.serverUrl = server.url
    used.client = await registerClient(server.url)
    used.id = (await deploy(used.client)).id
  })
  afterAll(() => server.close())

  testAgentRoutes(used)
})
