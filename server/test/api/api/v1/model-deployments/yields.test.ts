import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { ServerResponse } from 'node:http'
import { sql } from 'kysely'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { deploy, waitForStatus } from '../../../../support/deployments.ts'
import { makeDue } from '../../../../support/reconcile.ts'
import { answerJson, startRecordingEngine } from '../../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const patience = { timeout: 60_000, interval: 100 }
const runtime = createScriptedRuntime()
const answer =
  '{"choices":[{"message":{"content":"Hello"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'

let server: TestServer
let engine: RecordingEngine
let owner: Client
let other: Client
beforeAll(async () => {
  engine = await startRecordingEngine()
  server = await startTestServer({ runtime, settings: { BILLING_TRIAL_MAX_ACTIVE: '50' } })
})
beforeEach(async () => {
  // The deployments of earlier tests keep their hardware.
  await server.application.db.updateTable('deployments').set({ yields: false }).execute()
  owner = await registerClient(server.url)
  other = await registerClient(server.url)
  engine.answer((response) => answerJson(response, answer))
  const holders = new Set<string>()
  const hardware = createScriptedRuntime()
  runtime.answer({
    // There is hardware for one engine.
    provision(spec) {
      if (!holders.has(spec.engineId) && holders.size > 0) {
        return { outcome: 'refused', code: 'no_capacity', message: 'All taken.' }
      }
      holders.add(spec.engineId)
      return hardware.provision(spec)
    },
    release: (_id, engineId) => {
      holders.delete(engineId)
      return true
    },
    ensureEngine: () => ({ phase: 'ready', endpoint: { baseUrl: engine.url } }),
    observeEngine: () => ({ phase: 'ready', endpoint: { baseUrl: engine.url } }),
  })
})
afterEach(() => runtime.reset())
afterAll(async () => {
  await server.close()
  await engine.close()
})

const read = async (client: Client, id: string) => (await client.get(`${path}/${id}`)).body
const chat = (client: Client, model: string) => client.post('/v1/chat/completions', { model, messages: [] })

/** Waits until the server has reported how many requests the deployment has in flight. */
async function waitForReport(id: string, inFlight: number): Promise<void> {
  const { db } = server.application
  const read = sql<{ inFlight: number }>`SELECT in_flight AS "inFlight" FROM instance_loads
    JOIN instances ON instances.id = instance_loads.instance_id WHERE deployment_id = ${id}`
  await vi.waitFor(async () => expect((await read.execute(db)).rows).toEqual([{ inFlight }]), patience)
}

/** Lets a deployment ask again for hardware. */
async function askAgain(id: string): Promise<void> {
  const count = () => runtime.callsFor(id).filter((name) => name === 'provision').length
  const before = count()
  await makeDue(server, id)
  await vi.waitFor(() => expect(count()).toBeGreaterThan(before), patience)
}

/** Lets time pass in which nobody uses the deployment. */
async function makeIdle(id: string): Promise<void> {
  const { db } = server.application
  const at = new Date(Date.now() - 60_000)
  await db.updateTable('instances').set({ status_changed_at: at }).where('deployment_id', '=', id).execute()
  await sql`UPDATE instance_loads SET used_at = ${at} FROM instances
    WHERE instances.id = instance_loads.instance_id AND deployment_id = ${id}`.execute(db)
}

test('two deployments with yields take turns on hardware for one, and no request fails', async () => {
  const first = await deploy(owner)
  await owner.patch(`${path}/${first.id}`, { yields: true })
  expect((await chat(owner, first.id)).status).toBe(200)
  const second = await deploy(other, 'berth-tiny', 'provisioning')
  await vi.waitFor(
    async () =>
      expect(await read(other, second.id)).toMatchObject({
        status: 'provisioning',
        waiting_for: 'instance',
        status_message: 'Waiting until another deployment has given up its hardware.',
      }),
    patience,
  )
  expect((await read(owner, first.id)).status, 'it keeps its hardware for 30 s').toBe('running')
  await makeIdle(first.id)
  await makeDue(server, second.id)
  await waitForStatus(owner, first.id, 'sleeping')
  await waitForStatus(other, second.id, 'running')
  const messages = (await owner.get(`${path}/${first.id}/events`)).body.items.map(
    ({ message }: { message: string }) => message,
  )
  expect(messages).toContain('Falls asleep because another deployment needs its hardware.')

  await other.patch(`${path}/${second.id}`, { yields: true })
  await makeIdle(second.id)
  expect((await chat(owner, first.id)).status).toBe(200)
  expect((await read(other, second.id)).status).toBe('sleeping')
  expect((await read(owner, first.id)).status).toBe('running')
})

test('waiting deployments get hardware in the order of their arrival', async () => {
  const { id } = await deploy(owner)
  await owner.patch(`${path}/${id}`, { yields: true })
  const waitForHardware = (client: Client, each: string) =>
    vi.waitFor(
      async () => expect(await read(client, each)).toMatchObject({ waiting_for: 'instance' }),
      patience,
    )
  const second = await deploy(other, 'berth-tiny', 'provisioning')
  await waitForHardware(other, second.id)
  // It asks less often than one that has just begun to wait.
  await sql`UPDATE instances SET status_changed_at = status_changed_at - interval '1 minute'
    WHERE deployment_id = ${second.id}`.execute(server.application.db)
  await askAgain(second.id)
  const third = await deploy(owner, 'berth-tiny', 'provisioning')
  await waitForHardware(owner, third.id)
  await makeIdle(id)
  await makeDue(server, second.id)
  await waitForStatus(other, second.id, 'running')
  expect((await read(owner, third.id)).status).toBe('provisioning')
  await other.patch(`${path}/${second.id}`, { yields: true })
  await makeIdle(second.id)
  await makeDue(server, third.id)
  await waitForStatus(owner, third.id, 'running')
})

test('a deployment with a request in flight does not yield', async () => {
  const { id } = await deploy(owner)
  await owner.patch(`${path}/${id}`, { yields: true })
  const held: ServerResponse[] = []
  engine.answer((response) => void held.push(response))
  const asked = chat(owner, id)
  await vi.waitFor(() => expect(held).toHaveLength(1), patience)
  const waiting = await deploy(other, 'berth-tiny', 'provisioning')
  await waitForReport(id, 1)
  for (const _ of [1, 2]) {
    await makeIdle(id)
    await askAgain(waiting.id)
  }
  expect((await read(owner, id)).status).toBe('running')
  expect((await read(other, waiting.id)).status).toBe('provisioning')
  engine.answer((response) => answerJson(response, answer))
  answerJson(held[0]!, answer)
  expect((await asked).status).toBe(200)
  await waitForReport(id, 0)
  await makeIdle(id)
  await makeDue(server, waiting.id)
  await waitForStatus(other, waiting.id, 'running')
  expect((await read(owner, id)).status).toBe('sleeping')
})

test('hardware of a deployment without yields is refused', async () => {
  const { id } = await deploy(owner)
  await makeIdle(id)
  const refused = await deploy(other, 'berth-tiny', 'failed')
  expect((await read(other, refused.id)).failure_reason).toBe('no_capacity: All taken.')
})
