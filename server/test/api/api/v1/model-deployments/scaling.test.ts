import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { ServerResponse } from 'node:http'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { createTestClock } from '../../../../support/clock.ts'
import { deploy } from '../../../../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const patience = { timeout: 60_000, interval: 100 }
const answer =
  '{"choices":[{"message":{"content":"Hello"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'
const runtime = createScriptedRuntime()
/** The places of the engines that have had a request, and the responses that a test holds back */
const served = new Set<number>()
const held: ServerResponse[] = []

let server: TestServer
let engines: RecordingEngine[]
let client: Client
beforeAll(async () => {
  engines = await Promise.all([1, 2, 3].map(() => startRecordingEngine()))
  server = await startTestServer({
    runtime,
    settings: { BILLING_TRIAL_MAX_ACTIVE: '50' },
    // The load counts for half a minute, which is six seconds here.
    clock: createTestClock(5).now,
    config: { scaleDownMilliseconds: 3_000, pace: { drainNotice: 3_000, scaling: 400 } },
  })
})
beforeEach(async () => {
  client = await registerClient(server.url)
  served.clear()
  held.length = 0
  const places = new Map<string, string[]>()
  const serve = (deploymentId: string, engineId: string) => {
    const own = places.get(deploymentId) ?? []
    if (!own.includes(engineId)) places.set(deploymentId, [...own, engineId])
    const place = places.get(deploymentId)!.indexOf(engineId) % engines.length
    return { phase: 'ready', endpoint: { baseUrl: engines[place]!.url } } as const
  }
  runtime.answer({
    ensureEngine: ({ deploymentId, engineId }) => serve(deploymentId, engineId),
    observeEngine: serve,
  })
  for (const [place, engine] of engines.entries()) {
    engine.answer((response) => {
      served.add(place)
      held.push(response)
    })
  }
})
afterEach(() => runtime.reset())
afterAll(async () => {
  await server.close()
  await Promise.all(engines.map((engine) => engine.close()))
})

const read = async (id: string) => (await client.get(`${path}/${id}`)).body
const change = (id: string, policy: object) => client.patch(`${path}/${id}`, policy)
const chat = (model: string) =>
  client.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] })
const countRunning = async (id: string): Promise<number> =>
  (await read(id)).instances.filter(({ status }: { status: string }) => status === 'running').length
const waitForRunning = (id: string, count: number) =>
  vi.waitFor(async () => expect(await countRunning(id)).toBe(count), patience)
const listMessages = async (id: string): Promise<string[]> =>
  (await client.get(`${path}/${id}/events`)).body.items.map(({ message }: { message: string }) => message)

test('PATCH …/{id} min_instances: starts instances, and max_instances drains the newest', async () => {
  const { id, instances } = await deploy(client)
  const { body } = await change(id, { min_instances: 3, max_instances: 3 })
  expect(body.policy).toMatchObject({ min_instances: 3, max_instances: 3 })
  await waitForRunning(id, 3)
  expect((await read(id)).instances[0]).toMatchObject({ id: instances[0]!.id })
  expect((await change(id, { min_instances: 1, max_instances: 1 })).status).toBe(200)
  await vi.waitFor(async () => expect((await read(id)).instances).toHaveLength(1), patience)
  expect(await read(id)).toMatchObject({ status: 'running', instances: [{ id: instances[0]!.id }] })
})

test('load starts instances that share it, and less load releases them without a failed request', async () => {
  const { id } = await deploy(client)
  await change(id, { max_instances: 3, target_concurrency: 1 })
  const first = Array.from({ length: 3 }, () => chat(id))
  await waitForRunning(id, 3)
  const later = Array.from({ length: 6 }, () => chat(id))
  await vi.waitFor(() => expect(held).toHaveLength(9), patience)
  expect(served.size).toBe(3)
  for (const response of held) answerJson(response, answer)
  const statuses = await Promise.all([...first, ...later])
  expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([200]))
  await vi.waitFor(async () => expect((await read(id)).instances).toHaveLength(1), {
    ...patience,
    timeout: 100_000,
  })
  expect(await listMessages(id)).toEqual(
    expect.arrayContaining([
      'Starts 2 more instances, 3 in total, because 3 requests are in flight.',
      'Goes down to 2 instances, because fewer requests are in flight.',
      'Goes down to 1 instance, because fewer requests are in flight.',
    ]),
  )
})

test('a further instance that finds no hardware is asked for again, and the others go on', async () => {
  const { id } = await deploy(client)
  const refusal = { outcome: 'refused', code: 'no_capacity', message: 'All taken.' } as const
  let isFull = true
  const provide = createScriptedRuntime()
  runtime.answer({ provision: (spec) => (isFull ? refusal : provide.provision(spec)) })
  await change(id, { min_instances: 2, max_instances: 2 })
  await vi.waitFor(
    async () =>
      expect(await read(id)).toMatchObject({
        status: 'running',
        waiting_for: null,
        status_message: 'There is no further instance yet. All taken.',
        failure_reason: null,
      }),
    patience,
  )
  expect(await listMessages(id)).toContain('All taken. The other instances go on.')
  const asked = chat(id)
  await vi.waitFor(() => expect(held).toHaveLength(1), patience)
  answerJson(held[0]!, answer)
  expect((await asked).status).toBe(200)
  isFull = false
  await waitForRunning(id, 2)
  expect(await read(id)).toMatchObject({ waiting_for: null, status_message: null })
})

test('PATCH …/{id} schedules: wake the deployment and keep it awake; 0 lets it sleep', async () => {
  const { id } = await deploy(client)
  const always = { cron: '* * * * *', time_zone: 'Europe/Berlin' }
  const busy = { ...always, min_instances: 2 }
  const { body } = await change(id, { max_instances: 2, schedules: [busy] })
  expect(body.policy).toMatchObject({ min_instances: 1, schedules: [busy] })
  await waitForRunning(id, 2)
  expect(await listMessages(id)).toContain(
    'Starts one more instance, 2 in total, because a schedule asks for them.',
  )
  expect((await client.post(`${path}/${id}/sleep`)).status).toBe(200)
  await vi.waitFor(
    async () =>
      expect(await listMessages(id)).toContainEqual(expect.stringMatching(/^Woken by a schedule after /)),
    patience,
  )
  await waitForRunning(id, 2)

  await change(id, { schedules: [{ ...always, min_instances: 0 }] })
  expect((await client.post(`${path}/${id}/sleep`)).status).toBe(200)
  await vi.waitFor(async () => expect((await read(id)).status).toBe('sleeping'), patience)
  // The scheduler wakes a later deployment, so it has left this one asleep.
  const { id: later } = await deploy(client)
  await change(later, { max_instances: 2, schedules: [busy] })
  await waitForRunning(later, 2)
  expect((await read(id)).status).toBe('sleeping')
})

test.each([
  [{ cron: '0 8 * *' }, 'schedules.0.cron'],
  [{ cron: '0 0 30 2 *' }, 'schedules.0.cron'],
  [{ time_zone: 'Mars/Olympus' }, 'schedules.0.time_zone'],
  [{ min_instances: 101 }, 'schedules.0.min_instances'],
])('PATCH …/{id} schedules with %j: 422 on %s', async (wrong, field) => {
  const { id } = await deploy(client)
  const schedule = { cron: '0 8 * * MON-FRI', time_zone: 'UTC', min_instances: 1, ...wrong }
  const refused = await change(id, { schedules: [schedule] })
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ location: 'body', field }] } })
})
