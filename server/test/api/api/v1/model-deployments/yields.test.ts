import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { ServerResponse } from 'node:http'
import { sql } from 'kysely'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { deploy, waitForStatus } from '../../../../support/deployments.ts'
import { makeDue } from '../../../../support/reconcile.ts'
import { answerJson, startRecordingEngine } from '../../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../../support/recording-engine.ts'
import { createScriptedRuntime, makeOffer } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const patience = { timeout: 60_000, interval: 100 }
const runtime = createScriptedRuntime()
const answer =
  '{"choices":[{"message":{"content":"Hello"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'

/** Deployments that need more hardware than is free, whoever has given up its own */
const tooLarge = new Set<string>()
/** Those that waited, with their owners */
const waiting = new Map<string, Client>()
/** For how many engines there is hardware */
let places = 1

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
  tooLarge.clear()
  places = 1
  const hardware = createScriptedRuntime()
  runtime.answer({
    provision(spec) {
      if (!holders.has(spec.engineId) && (holders.size >= places || tooLarge.has(spec.deploymentId))) {
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
afterEach(async () => {
  runtime.answer({ release: () => true })
  // One that still waits would take the hardware of the next test.
  for (const [id, client] of waiting) {
    await client.delete(`${path}/${id}`)
    await waitForStatus(client, id, 'terminated')
  }
  waiting.clear()
  runtime.reset()
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

const read = async (client: Client, id: string) => (await client.get(`${path}/${id}`)).body
const chat = (client: Client, model: string) =>
  client.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] })

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

test('hardware that is given up while the runtime still refuses it is taken', async () => {
  const { id } = await deploy(owner)
  await owner.patch(`${path}/${id}`, { yields: true })
  await makeIdle(id)
  let refusals = 0
  const hardware = createScriptedRuntime()
  runtime.answer({
    async provision(spec) {
      const { status } = await read(owner, id)
      if (spec.deploymentId === id || status === 'sleeping') return hardware.provision(spec)
      refusals += 1
      // The second refusal arrives when nobody is left to give anything up.
      if (refusals > 1) await waitForStatus(owner, id, 'sleeping')
      return { outcome: 'refused', code: 'no_capacity', message: 'All taken.' }
    },
    release: () => refusals > 1,
  })
  const asking = await deploy(other)
  expect(refusals).toBe(2)
  expect(asking.status).toBe('running')
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
  await other.patch(`${path}/${second.id}`, { yields: true })
  await makeIdle(id)
  await makeDue(server, second.id)
  await waitForStatus(other, second.id, 'running')
  expect((await read(owner, third.id)).status).toBe('provisioning')
  await makeIdle(second.id)
  await makeDue(server, third.id)
  await waitForStatus(owner, third.id, 'running')
})

/** Requests a deployment that finds no hardware, and waits until it waits for some. */
async function deployWaiting(client: Client): Promise<string> {
  const { id } = await deploy(client, 'berth-tiny', 'provisioning')
  await vi.waitFor(
    async () =>
      expect(await read(client, id)).toMatchObject({
        status_message: 'Waiting until another deployment has given up its hardware.',
      }),
    patience,
  )
  waiting.set(id, client)
  return id
}

/** Lets the deployment have waited for so long. */
async function ageWait(id: string, milliseconds: number): Promise<void> {
  const at = new Date(Date.now() - milliseconds)
  const instances = server.application.db.updateTable('instances').set({ hardware_asked_at: at })
  await instances.where('deployment_id', '=', id).execute()
  await makeDue(server, id)
}

test('who fits into the free hardware passes a waiting deployment that does not', async () => {
  const { id } = await deploy(owner)
  await owner.patch(`${path}/${id}`, { yields: true })
  const large = await deployWaiting(owner)
  tooLarge.add(large)
  places = 2
  const passing = await deploy(other)
  expect(passing.status).toBe('running')
  expect((await read(owner, large)).status).toBe('provisioning')
})

test('organizations take turns: one with two waiting deployments gets one', async () => {
  const { id } = await deploy(await registerClient(server.url))
  await server.application.db.updateTable('deployments').set({ yields: true }).where('id', '=', id).execute()
  const [first, second] = [await deployWaiting(owner), await deployWaiting(owner)]
  const third = await deployWaiting(other)
  for (const each of [first, second]) await owner.patch(`${path}/${each}`, { yields: true })
  await makeIdle(id)
  await makeDue(server, second)
  await waitForStatus(owner, first, 'running')
  await makeIdle(first)
  await makeDue(server, second)
  await waitForStatus(other, third, 'running')
  expect((await read(owner, second)).status).toBe('provisioning')
})

test('a wait for hardware ends after ten minutes', async () => {
  const { id } = await deploy(owner)
  await owner.patch(`${path}/${id}`, { yields: true })
  // The deployment falls asleep, but its hardware is never released.
  runtime.answer({ release: () => false })
  expect((await owner.post(`${path}/${id}/sleep`)).status).toBe(200)
  const asking = await deployWaiting(other)
  await ageWait(asking, 9 * 60_000)
  await askAgain(asking)
  expect((await read(other, asking)).status).toBe('provisioning')
  await ageWait(asking, 11 * 60_000)
  await waitForStatus(other, asking, 'failed')
  expect((await read(other, asking)).failure_reason).toBe(
    'no_capacity: No other deployment gave up enough hardware within ten minutes.',
  )
})

test('a deployment with yields that is never idle is not waited for', async () => {
  const { id } = await deploy(owner)
  await owner.patch(`${path}/${id}`, { yields: true })
  const asking = await deployWaiting(other)
  await ageWait(asking, 61_000)
  await waitForStatus(other, asking, 'failed')
  expect((await read(other, asking)).failure_reason).toBe('no_capacity: All taken.')
  expect((await read(owner, id)).status).toBe('running')
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

/** A host with these GPUs, each given whole or in halves */
function divideGpus(...gpus: string[]): void {
  const held = new Map<string, string>()
  const hardware = createScriptedRuntime()
  const halvesOf = (allocation: string) =>
    allocation.includes('/') ? [allocation] : [`${allocation}/1`, `${allocation}/2`]
  const listOffers = () => [makeOffer('l4-x1/2', { shares: 2 }), makeOffer('l4-x1')]
  runtime.answer({
    listOffers,
    async provision(spec) {
      const taken = [...held].flatMap(([id, allocation]) =>
        id === spec.engineId ? [] : halvesOf(allocation),
      )
      const wanted = spec.instanceType === 'l4-x1' ? gpus : gpus.flatMap(halvesOf)
      const free = wanted.find((each) => !halvesOf(each).some((half) => taken.includes(half)))
      if (free === undefined) return { outcome: 'refused', code: 'no_capacity', message: 'All taken.' }
      held.set(spec.engineId, free)
      const result = await hardware.provision(spec)
      const gpuAllocationId = free.replace(/\/.$/, '/2')
      return result.outcome === 'provisioned'
        ? { ...result, instance: { ...result.instance, gpuAllocationId } }
        : result
    },
    release: (_id, engineId) => {
      held.delete(engineId)
      return true
    },
  })
}

async function deployOn(client: Client, instance_type: string, isYielding: boolean, status = 'running') {
  const { body } = await client.post(path, { model_name: 'berth-tiny', instance_type })
  await waitForStatus(client, body.id, status)
  await client.patch(`${path}/${body.id}`, { yields: isYielding })
  waiting.set(body.id, client)
  return body.id as string
}

test('a whole GPU waits for its shares, and a share for a whole GPU', async () => {
  divideGpus('GPU-a')
  const shares = [await deployOn(owner, 'l4-x1/2', true), await deployOn(owner, 'l4-x1/2', true)]
  const whole = await deployOn(other, 'l4-x1', true, 'provisioning')
  for (const id of shares) {
    await makeIdle(id)
    await makeDue(server, whole)
    await waitForStatus(owner, id, 'sleeping')
  }
  await waitForStatus(other, whole, 'running')

  await makeIdle(whole)
  expect((await chat(owner, shares[0]!)).status).toBe(200)
  expect((await read(other, whole)).status).toBe('sleeping')
})

test('a share falls asleep for a whole GPU only if the other shares of its GPU may', async () => {
  divideGpus('GPU-a', 'GPU-b')
  const mixed = [await deployOn(owner, 'l4-x1/2', true), await deployOn(owner, 'l4-x1/2', false)]
  const own = await deployOn(owner, 'l4-x1/2', true)
  for (const id of [...mixed, own]) await makeIdle(id)
  const whole = await deployOn(other, 'l4-x1', false)
  expect(await read(other, whole)).toMatchObject({ gpu_allocation_id: 'GPU-b' })
  expect((await read(owner, own)).status).toBe('sleeping')
  expect((await read(owner, mixed[0]!)).status).toBe('running')
  const refused = await deployOn(other, 'l4-x1', false, 'failed')
  expect((await read(other, refused)).failure_reason).toBe('no_capacity: All taken.')
})

test('hardware of a deployment without yields is refused', async () => {
  const { id } = await deploy(owner)
  await makeIdle(id)
  const refused = await deploy(other, 'berth-tiny', 'failed')
  expect((await read(other, refused.id)).failure_reason).toBe('no_capacity: All taken.')
})
