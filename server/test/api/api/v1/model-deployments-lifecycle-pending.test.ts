import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { waitForStatus } from '../../../support/deployments.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/model-deployments'
const runtime = createScriptedRuntime()
const pending = { outcome: 'pending', message: 'Waiting for a node.' } as const

let server: TestServer
let client: Client
let late = 0
beforeAll(async () => {
  server = await startTestServer({ runtime, clock: () => new Date(Date.now() + late) })
  client = await registerClient(server.url)
})
afterEach(() => runtime.reset())
afterAll(() => server.close())

async function createPending(): Promise<string> {
  runtime.answer({ provision: () => pending })
  const { body } = await client.post(path, { model_name: 'berth-tiny' })
  await expect
    .poll(async () => (await client.get(`${path}/${body.id}`)).body.status_message)
    .toBe(pending.message)
  return body.id
}

test('a pending instance: provisioning with the runtime’s message, then the deployment continues automatically', async () => {
  const id = await createPending()
  const { body } = await client.get(`${path}/${id}`)
  expect(body).toMatchObject({ status: 'provisioning', waiting_for: 'instance', instance_id: null })
  runtime.reset()
  const running = await waitForStatus(client, id, 'running')
  expect(running.instance_id).not.toBeNull()
  const { items } = (await client.get(`${path}/${id}/events`)).body
  expect(items).toContainEqual(
    expect.objectContaining({ status: 'provisioning', stage: 'provisioning', message: pending.message }),
  )
})

test('a deployment with a pending instance can be deleted, and the request is released', async () => {
  const id = await createPending()
  expect((await client.delete(`${path}/${id}`)).status).toBeLessThan(300)
  await waitForStatus(client, id, 'terminated')
  expect(runtime.callsFor(id)).toContain('release')
})

test('an instance pending for an hour: failed with provision_timeout, and released', async () => {
  const id = await createPending()
  late = 61 * 60_000
  const failed = await waitForStatus(client, id, 'failed')
  late = 0
  expect(failed).toMatchObject({
    failure_stage: 'provisioning',
    failure_reason: 'provision_timeout: No instance became available within one hour. Waiting for a node.',
  })
  await expect.poll(() => runtime.callsFor(id)).toContain('release')
})

test('a runtime error does not fail a long-pending instance', async () => {
  const id = await createPending()
  late = 30 * 60_000
  runtime.answer({
    provision: () => {
      throw new Error('timed out')
    },
  })
  const read = async () => (await client.get(`${path}/${id}`)).body
  await expect.poll(async () => (await read()).waiting_for).toBe('retry')
  expect((await read()).status).toBe('provisioning')
  runtime.reset()
  await waitForStatus(client, id, 'running')
  late = 0
})
