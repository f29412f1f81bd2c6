import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { ServerResponse } from 'node:http'
import { registerClient } from '../../../support/client.ts'
import { deploy } from '../../../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/chat/completions'
const patience = { timeout: 20_000 }
const settings = { INFERENCE_MAX_IN_FLIGHT_PER_USER: '3' }
const config = { inference: { limits: { perInstance: 2, queuedPerUser: 1, queueMilliseconds: 1_500 } } }

const runtime = createScriptedRuntime()
let server: TestServer
const engines: RecordingEngine[] = []
/** Requests that an engine has not answered yet */
let held: ServerResponse[] = []
beforeAll(async () => {
  server = await startTestServer({ runtime, settings, config })
  for (let count = 0; count < 2; count += 1) engines.push(await startRecordingEngine())
})
afterEach(async () => {
  release()
  for (const engine of engines) engine.answer((response) => answerJson(response, '{}'))
  await vi.waitFor(() => expect(server.application.inference.inFlight.total).toBe(0), patience)
})
afterAll(async () => {
  await server.close()
  for (const engine of engines) await engine.close()
})

function hold(response: ServerResponse): void {
  held.push(response)
}

function release(): void {
  for (const response of held) answerJson(response, '{}')
  held = []
}

/** Registers a user with `count` deployments of one model, each at its own engine. */
async function deployModels(count: number) {
  const person = await registerClient(server.url)
  const ids: string[] = []
  for (const engine of engines.slice(0, count)) {
    runtime.answer({ ensureEngine: () => ({ phase: 'ready', endpoint: { baseUrl: engine.url } }) })
    ids.push((await deploy(person)).id)
  }
  return { person, ids, ask: (model = 'berth-tiny') => person.post(path, { model }) }
}

const queued = () => server.application.inference.admission.queued

test('beyond the limit of an instance a request is queued; when the queue of its user is full it is a 429 with Retry-After', async () => {
  engines[0]!.answer(hold)
  const { ask } = await deployModels(1)
  const first = [ask(), ask()]
  await vi.waitFor(() => expect(held).toHaveLength(2), patience)
  const third = ask()
  await vi.waitFor(() => expect(queued()).toBe(1), patience)
  const refused = await ask()
  expect(refused.status).toBe(429)
  expect(refused.body.error).toMatchObject({ code: 'rate_limited', type: 'rate_limit_error' })
  expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  answerJson(held.shift()!, '{}')
  await vi.waitFor(() => expect(held).toHaveLength(2), patience)
  release()
  expect((await Promise.all([...first, third])).map(({ status }) => status)).toEqual([200, 200, 200])
})

test('a request queued for too long is a 429', async () => {
  engines[0]!.answer(hold)
  const { ask } = await deployModels(1)
  const first = [ask(), ask()]
  await vi.waitFor(() => expect(held).toHaveLength(2), patience)
  expect((await ask()).status).toBe(429)
  expect([queued(), held.length]).toEqual([0, 2])
  release()
  await Promise.all(first)
})

test('a slow deployment delays neither other deployments of the user nor other users', async () => {
  engines[0]!.answer(hold)
  const { ids, ask } = await deployModels(2)
  const stranger = await deployModels(2)
  const slow = [ask(ids[0]), ask(ids[0]), ask(ids[0])]
  await vi.waitFor(() => expect([held.length, queued()]).toEqual([2, 1]), patience)
  for (let count = 0; count < 5; count += 1) expect((await ask(ids[1])).status).toBe(200)
  expect((await stranger.ask(stranger.ids[1])).status).toBe(200)
  release()
  engines[0]!.answer((response) => answerJson(response, '{}'))
  await Promise.all(slow)
})

test('beyond INFERENCE_MAX_IN_FLIGHT_PER_USER a request to any deployment is queued', async () => {
  for (const engine of engines) engine.answer(hold)
  const { ids, ask } = await deployModels(2)
  const asked = [ask(ids[0]), ask(ids[0]), ask(ids[1]), ask(ids[1])]
  await vi.waitFor(() => expect([held.length, queued()]).toEqual([3, 1]), patience)
  release()
  for (const engine of engines) engine.answer((response) => answerJson(response, '{}'))
  await vi.waitFor(() => release(), patience)
  await expect.poll(() => held.length + queued()).toBe(0)
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
})

test('a caller who disconnects while queued leaves the queue', async () => {
  engines[0]!.answer(hold)
  const { ask, person } = await deployModels(1)
  const first = [ask(), ask()]
  await vi.waitFor(() => expect(held).toHaveLength(2), patience)
  const leaving = new AbortController()
  const third = fetch(server.url + path, {
    method: 'POST',
    headers: { cookie: person.cookie(), 'content-type': 'application/json' },
    body: '{"model":"berth-tiny"}',
    signal: leaving.signal,
  })
  await vi.waitFor(() => expect(queued()).toBe(1), patience)
  leaving.abort()
  await expect(third).rejects.toThrow()
  await vi.waitFor(() => expect(queued()).toBe(0), patience)
  release()
  await Promise.all(first)
})

test('three consecutive 500s open the circuit breaker of a deployment; after a pause one request probes it', async () => {
  const { ask } = await deployModels(2)
  let broken = true
  engines[1]!.answer((response) => (broken ? answerJson(response, '{}', 500) : answerJson(response, '{}')))
  const count = () => engines[1]!.requests.length
  // With equal load the newest deployment is picked.
  for (let asked = 0; asked < 3; asked += 1) expect((await ask()).status).toBe(500)
  const before = count()
  for (let asked = 0; asked < 5; asked += 1) expect((await ask()).status).toBe(200)
  expect(count()).toBe(before)
  broken = false
  await expect.poll(async () => (await ask()).status === 200 && count() > before).toBe(true)
  for (let asked = 0; asked < 3; asked += 1) expect((await ask()).status).toBe(200)
})

test('requests still go to the only deployment of a model while its circuit breaker is open', async () => {
  const { ask } = await deployModels(1)
  engines[0]!.answer((response) => answerJson(response, '{}', 503))
  for (let asked = 0; asked < 5; asked += 1) expect((await ask()).status).toBe(503)
  engines[0]!.answer((response) => answerJson(response, '{}'))
  expect((await ask()).status).toBe(200)
})
