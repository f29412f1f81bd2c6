import { Client as AgentClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../../server/test/support/client.ts'
import type { Client } from '../../server/test/support/client.ts'
import { waitForStatus } from '../../server/test/support/deployments.ts'
import { createScriptedRuntime } from '../../server/test/support/scripted-runtime.ts'
import { startTestServer } from '../../server/test/support/server.ts'
import type { TestServer } from '../../server/test/support/server.ts'
import { node, openShell, program } from './support/command.ts'
import type { Shell } from './support/command.ts'

const runtime = createScriptedRuntime()

let server: TestServer
let client: Client
let shell: Shell

beforeAll(async () => {
  const reason = { code: 'out_of_memory' as const, message: 'The engine needs 12 GiB.' }
  runtime.answer({ ensureEngine: () => ({ phase: 'failed', stage: 'model_launch', ...reason }) as never })
  server = await startTestServer({ runtime })
  client = await registerClient(server.url)
  shell = await openShell({ BERTH_URL: server.url }, client)
})

afterAll(async () => {
  await shell.close()
  await server.close()
})

async function openAgent(...options: string[]): Promise<AgentClient> {
  const agent = new AgentClient({ name: 'test', version: '1' })
  await agent.connect(
    new StdioClientTransport({
      command: node,
      args: [program, 'mcp', ...options],
      env: shell.env,
      stderr: 'ignore',
    }),
  )
  return agent
}

async function call(agent: AgentClient, name: string, input: Record<string, unknown> = {}): Promise<any> {
  const { content, isError } = await agent.callTool({ name, arguments: input })
  const [{ text }] = content as [{ text: string }]
  return isError ? { error: text } : JSON.parse(text)
}

test('an agent plans, deploys, explains a failure and reads the bill', async () => {
  const agent = await openAgent()
  expect(await call(agent, 'plan_deployment', { model: 'berth-tiny' })).toMatchObject({ feasible: true })
  const { id } = await call(agent, 'deploy_model', { model: 'berth-tiny' })
  await waitForStatus(client, id, 'failed')
  const explained = await call(agent, 'explain_deployment', { deployment: id })
  expect(explained.deployment.failure_reason).toContain('12 GiB')
  expect(explained.events.at(-1)).toMatchObject({ status: 'failed' })
  expect(await call(agent, 'list_deployments')).toMatchObject([{ id }])
  expect(await call(agent, 'show_usage')).toMatchObject({ currency: 'usd' })
  expect(await call(agent, 'show_bill')).toMatchObject({ account: { billing_mode: 'trial' }, invoices: [] })
  expect((await call(agent, 'plan_deployment', { model: 'nothing' })).error).toContain('nothing')
  await agent.close()
})

test('lists fit a small context: they have what an agent decides by', async () => {
  const agent = await openAgent()
  const models = await call(agent, 'list_models')
  expect(models.length).toBeGreaterThan(50)
  expect(JSON.stringify(models).length).toBeLessThan(10_000)
  expect(models).toContainEqual({ model_name: 'berth-tiny', model_type: 'LLM', sizes: '0.002B' })
  const [found] = await call(agent, 'list_models', { search: 'berth-tiny chat' })
  expect(found).toMatchObject({ model_name: 'berth-tiny', variants: ['0.002B ggufv2: Q8_0'] })
  const plan = await call(agent, 'plan_deployment', { model: 'berth-tiny' })
  expect(JSON.stringify(plan).length).toBeLessThan(2000)
  const deployed = await call(agent, 'deploy_model', { model: 'berth-tiny' })
  const [listed] = await call(agent, 'list_deployments')
  for (const deployment of [deployed, listed]) {
    expect(deployment).toMatchObject({ id: deployed.id, model_name: 'berth-tiny' })
    expect(JSON.stringify(deployment).length).toBeLessThan(600)
  }
  await client.delete(`/api/v1/model-deployments/${deployed.id}`)
  await waitForStatus(client, deployed.id, 'terminated')
  await agent.close()
})

test('an agent puts a deployment to sleep and wakes it', async () => {
  runtime.reset()
  const agent = await openAgent()
  const { id } = await call(agent, 'deploy_model', { model: 'berth-tiny' })
  await waitForStatus(client, id, 'running')
  expect(await call(agent, 'sleep_deployment', { deployment: id })).toMatchObject({ id })
  await waitForStatus(client, id, 'sleeping')
  expect(await call(agent, 'wake_deployment', { deployment: id })).toMatchObject({ status: 'provisioning' })
  await waitForStatus(client, id, 'running')
  await agent.close()
})

test('--read-only has no tool that changes something', async () => {
  const agent = await openAgent('--read-only')
  const { tools } = await agent.listTools()
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true)
  expect(tools.map(({ name }) => name)).not.toContain('deploy_model')
  await agent.close()
})
