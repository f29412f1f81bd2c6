import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { deploy, waitForStatus } from '../../../support/deployments.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/model-deployments'

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer()
  client = await registerClient(server.url)
})
afterAll(() => server.close())

async function listEvents(id: string) {
  return (await client.get(`${path}/${id}/events`)).body.items as {
    at: string
    status: string
    stage: string | null
    message: string
  }[]
}

test('a deployment goes from requested to running to terminated on the real engine and fills its fields', async () => {
  const running = await deploy(client)
  expect(running).toMatchObject({
    cluster_id: 'local',
    instance_id: expect.stringMatching(/^local-/),
    gpu_allocation_id: expect.stringMatching(/./),
    selected_instance_type: expect.stringMatching(/^local-/),
    selection_reason: expect.stringMatching(
      /Needs at least .+ MiB \(weights .+ KV cache .+ overhead .+\)\. local-.+ provides/,
    ),
    status_message: null,
    failure_stage: null,
    failure_reason: null,
    terminated_at: null,
  })
  expect(Date.parse(running.updated_at)).toBeGreaterThan(Date.parse(running.created_at))
  expect(await server.application.runtimes.all[0]!.listEngineIds()).toContain(running.instances[0]!.id)

  const answer = await client.delete(`${path}/${running.id}`)
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ id: running.id, status: 'terminating', terminated_at: null })
  const ended = await waitForStatus(client, running.id, 'terminated')
  expect(ended).toMatchObject({ instance_id: running.instance_id, failure_stage: null, failure_reason: null })
  expect(ended.terminated_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(Date.parse(ended.terminated_at!)).toBeGreaterThanOrEqual(Date.parse(answer.body.updated_at))
  expect(await server.application.runtimes.all[0]!.listEngineIds()).not.toContain(running.instances[0]!.id)

  const events = await listEvents(running.id)
  const statuses = events.map(({ status }) => status).filter((status, at, all) => status !== all[at - 1])
  expect(statuses).toEqual(['requested', 'provisioning', 'deploying', 'running', 'terminating', 'terminated'])
  expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).toSorted())

  const again = await client.delete(`${path}/${running.id}`)
  expect(again.status).toBe(200)
  expect(again.body).toEqual(ended)
  expect(await listEvents(running.id)).toHaveLength(events.length)
})

test('a variant that no instance type can ever run is a 422 with the sentence of the plan', async () => {
  const impossible = [
    {
      body: { model_name: 'qwen2.5-instruct', model_format: 'pytorch' },
      reason: /^No instance type can run this model\. .*local-.*PyTorch/,
    },
    {
      body: { model_name: 'qwen2.5-instruct', model_size_in_billions: 72 },
      reason: /^No instance type can run this model\. .*local-.+ \(.+iB\): .+GiB needed/,
    },
  ]
  const { total } = (await client.get(path)).body
  for (const { body, reason } of impossible) {
    const plan = await client.post(`${path}/plan`, body)
    const answer = await client.post(path, body)
    expect(answer.status).toBe(422)
    expect(answer.body).toMatchObject({ code: 'model_not_deployable', detail: plan.body.reason })
    expect(answer.body.detail).toMatch(reason)
  }
  expect((await client.get(path)).body.total).toBe(total)
})
