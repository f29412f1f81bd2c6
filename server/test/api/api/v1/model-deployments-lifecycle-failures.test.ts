import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { FailureCode, FailureStage } from '../../../../src/ports/engine-failures.ts'
import type { EngineObservation } from '../../../../src/ports/model-runtime.ts'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { waitForStatus } from '../../../support/deployments.ts'
import { changeRecovery, readRecovery, secondsAgo } from '../../../support/recovery.ts'
import { createScriptedRuntime, makeOffer } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/model-deployments'
const runtime = createScriptedRuntime()
const pollOptions = { timeout: 20_000 }

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ runtime })
  client = await registerClient(server.url)
})
afterEach(() => runtime.reset())
afterAll(() => server.close())

async function create(): Promise<string> {
  const answer = await client.post(path, { model_name: 'berth-tiny' })
  expect(answer.status).toBe(201)
  return answer.body.id
}

/** Makes a deployment due, so that the worker reconciles it immediately. */
async function makeDue(id: string): Promise<void> {
  await server.application.db
    .updateTable('deployments')
    .set({ reconcile_at: new Date(0) })
    .where('id', '=', id)
    .execute()
}

async function readMessages(id: string): Promise<string[]> {
  const { items } = (await client.get(`${path}/${id}/events`)).body
  return items.map(({ message }: { message: string }) => message)
}

async function read(id: string) {
  return (await client.get(`${path}/${id}`)).body
}

function failed(stage: FailureStage, code: FailureCode): EngineObservation {
  return { phase: 'failed', stage, code, message: 'It did not work.' }
}

test('offers that disappear after the request: failed with no_feasible_instance', async () => {
  const answers = [[makeOffer('small')]]
  runtime.answer({ listOffers: () => answers.shift() ?? [] })
  const deployment = await waitForStatus(client, await create(), 'failed')
  expect(deployment).toMatchObject({
    failure_stage: 'instance_selection',
    failure_reason: expect.stringMatching(/^no_feasible_instance: /),
  })
})

test('the smallest offer that fits is chosen, and the reason names those ruled out', async () => {
  runtime.answer({
    listOffers: () => [
      makeOffer('large', { memoryBytes: 64 * 2 ** 30 }),
      makeOffer('other-format', { memoryBytes: 2 ** 30, formats: ['pytorch'] }),
      makeOffer('too-small', { memoryBytes: 2 ** 26 }),
      makeOffer('medium'),
    ],
  })
  const deployment = await waitForStatus(client, await create(), 'running')
  expect(deployment.selected_instance_type).toBe('medium')
  expect(deployment.selection_reason).toMatch(
    /Ruled out: too-small \(.*MiB\): .* needed; other-format: runs PyTorch/,
  )
})

test('after no_capacity the next offer that fits is tried', async () => {
  runtime.answer({
    listOffers: () => [makeOffer('first'), makeOffer('second', { memoryBytes: 2 ** 34 })],
    provision: ({ instanceType, deploymentId }) =>
      instanceType === 'first'
        ? { outcome: 'refused', code: 'no_capacity', message: 'All taken.' }
        : {
            outcome: 'provisioned',
            instance: {
              instanceId: `i-${deploymentId}`,
              clusterId: 'c',
              gpuAllocationId: 'g',
              region: 'r',
              startedAt: new Date(),
            },
          },
  })
  const id = await create()
  const deployment = await waitForStatus(client, id, 'running')
  expect(deployment).toMatchObject({ selected_instance_type: 'second', instance_id: `i-${id}` })
  expect(deployment.selection_reason).toContain('Ruled out: first: no capacity')
  expect(runtime.callsFor(id).filter((call) => call === 'provision')).toHaveLength(2)
  const { items } = (await client.get(`${path}/${id}/events`)).body
  expect(items).toContainEqual(
    expect.objectContaining({ stage: 'provisioning', message: 'All taken. Trying second.' }),
  )
})

test('no_capacity for every offer: failed with no_capacity', async () => {
  runtime.answer({
    listOffers: () => [makeOffer('first'), makeOffer('second')],
    provision: () => ({ outcome: 'refused', code: 'no_capacity', message: 'All taken.' }),
  })
  const id = await create()
  const deployment = await waitForStatus(client, id, 'failed')
  expect(deployment).toMatchObject({
    failure_stage: 'provisioning',
    failure_reason: 'no_capacity: All taken.',
  })
  expect(runtime.callsFor(id).filter((call) => call === 'provision')).toHaveLength(2)
})

test('after quota_exceeded no other offer is tried', async () => {
  runtime.answer({
    listOffers: () => [makeOffer('first'), makeOffer('second')],
    provision: () => ({ outcome: 'refused', code: 'quota_exceeded', message: 'No.' }),
  })
  const id = await create()
  const deployment = await waitForStatus(client, id, 'failed')
  expect(deployment).toMatchObject({ failure_stage: 'provisioning', failure_reason: 'quota_exceeded: No.' })
  expect(runtime.callsFor(id).filter((call) => call === 'provision')).toHaveLength(1)
})

test.each([
  ['provider_error', 'No. Starting another instance.'],
  ['engine_crashed', 'It did not work. Restarting the engine.'],
  ['download_failed', 'It did not work. Restarting the engine.'],
] as const)('a first start is tried again after %s, and fails after a minute', async (code, message) => {
  const isProvider = code === 'provider_error'
  const refuse = {
    provision: () => ({ outcome: 'refused', code, message: 'No.' }) as const,
  }
  const crash = { ensureEngine: () => failed('engine_startup', code) }
  runtime.answer(isProvider ? refuse : crash)
  const id = await create()
  await expect.poll(async () => (await readMessages(id)).includes(message), pollOptions).toBe(true)
  expect((await read(id)).status).not.toBe('failed')
  runtime.reset()
  await waitForStatus(client, id, 'running')

  runtime.answer(isProvider ? refuse : crash)
  const other = await create()
  await expect
    .poll(async () => (await readRecovery(server, other))?.attempts ?? 0, pollOptions)
    .toBeGreaterThan(1)
  await changeRecovery(server, other, { since: secondsAgo(61), next_at: secondsAgo(1) })
  expect(await waitForStatus(client, other, 'failed')).toMatchObject({
    failure_reason: `${code}: ${isProvider ? 'No.' : 'It did not work.'}`,
  })
})

test.each([
  ['model_download', 'model_not_found'],
  ['model_download', 'disk_full'],
  ['model_launch', 'launch_rejected'],
  ['model_launch', 'out_of_memory'],
  ['health_check', 'readiness_timeout'],
] as const)('%s, %s: failed immediately, and the instance is released automatically', async (stage, code) => {
  runtime.answer({ ensureEngine: () => failed(stage, code) })
  const id = await create()
  const deployment = await waitForStatus(client, id, 'failed')
  expect(deployment).toMatchObject({ failure_stage: stage, failure_reason: `${code}: It did not work.` })
  await vi.waitFor(() => expect(runtime.allocated).not.toContain(id), pollOptions)
  expect(runtime.callsFor(id)).not.toContain('stopEngine')
  expect((await read(id)).status).toBe('failed')
})

test('status_message reports the download and the start', async () => {
  const phases: EngineObservation[] = [
    { phase: 'downloading', message: 'Half done.', receivedBytes: 1, totalBytes: 2 },
    { phase: 'starting', message: 'Waking up.' },
  ]
  let phase = 0
  runtime.answer({ ensureEngine: () => phases[phase] ?? failed('model_launch', 'launch_rejected') })
  const id = await create()
  for (const [at, message] of ['Half done.', 'Waking up.'].entries()) {
    phase = at
    await expect.poll(async () => (await read(id)).status_message).toBe(message)
    const progress = at === 0 ? 0.5 : null
    expect(await read(id)).toMatchObject({ status: 'deploying', waiting_for: 'engine', progress })
  }
  runtime.reset()
  expect(await waitForStatus(client, id, 'running')).toMatchObject({ status_message: null, progress: null })
  const { items } = (await client.get(`${path}/${id}/events`)).body
  const stages = items.map(({ stage }: { stage: string }) => stage)
  expect(stages.indexOf('model_download')).toBeLessThan(stages.indexOf('engine_startup'))
})

test('a restart counts once, regardless of the number of stop calls and of the wording of the failure', async () => {
  let observations = 0
  runtime.answer({
    ensureEngine: () => ({
      phase: 'failed',
      stage: 'model_launch',
      code: 'engine_crashed',
      message: `It did not work (seen ${++observations} times).`,
    }),
    stopEngine: () => false,
  })
  const id = await create()
  await vi.waitFor(
    () => expect(runtime.callsFor(id).filter((call) => call === 'stopEngine').length).toBeGreaterThan(4),
    pollOptions,
  )
  expect(await read(id)).toMatchObject({
    status: 'deploying',
    waiting_for: 'stop',
    status_message: 'It did not work (seen 1 times). Restarting the engine.',
  })
  runtime.reset()
  await waitForStatus(client, id, 'running')
})

test.each([
  ['absent', { phase: 'absent' }],
  ['crashed', failed('runtime', 'engine_crashed')],
  ['unreachable', failed('health_check', 'engine_unreachable')],
] as [string, EngineObservation][])(
  'a running engine that is %s is restarted; 503 meanwhile',
  async (_what, seen) => {
    const id = await create()
    await waitForStatus(client, id, 'running')
    runtime.answer({
      observeEngine: () => seen,
      ensureEngine: () => ({ phase: 'starting', message: 'It starts again.' }),
    })
    await makeDue(id)
    await expect.poll(async () => (await read(id)).status_message).toMatch(/ It starts again\.$/)
    expect(await read(id)).toMatchObject({ status: 'deploying', waiting_for: 'engine' })
    expect(runtime.callsFor(id)).toContain('stopEngine')
    const answer = await client.post('/v1/chat/completions', {
      model: id,
      messages: [{ role: 'user', content: 'Hello' }],
    })
    expect(answer.status).toBe(503)
    expect(answer.body.error.code).toBe('deployment_not_ready')
    runtime.reset()
    await expect.poll(async () => (await read(id)).status_message).toBeNull()
    const { items } = (await client.get(`${path}/${id}/events`)).body
    expect(items.at(-1)).toMatchObject({
      status: 'running',
      message: 'The model is ready for requests again.',
    })
  },
)

test.each<EngineObservation>([
  { phase: 'starting', message: 'Its node starts it again.' },
  { phase: 'downloading', message: 'Its node starts it again.', receivedBytes: 1, totalBytes: 2 },
])('the worker waits for a running engine that restarts by itself ($phase); 503 meanwhile', async (seen) => {
  const id = await create()
  await waitForStatus(client, id, 'running')
  runtime.answer({ observeEngine: () => seen, ensureEngine: () => seen })
  await makeDue(id)
  await expect.poll(async () => (await read(id)).status_message).toBe('Its node starts it again.')
  const answer = await client.post('/v1/chat/completions', {
    model: id,
    messages: [{ role: 'user', content: 'Hello' }],
  })
  expect(answer.status).toBe(503)
  expect(answer.headers.get('retry-after')).toBe('5')
  expect(answer.body.error.code).toBe('deployment_not_ready')
  runtime.reset()
  await expect.poll(async () => (await read(id)).status_message).toBeNull()
  expect(runtime.callsFor(id)).not.toContain('stopEngine')
  const { items } = (await client.get(`${path}/${id}/events`)).body
  expect(items.map(({ message }: { message: string }) => message).slice(-2)).toEqual([
    'Its node starts it again.',
    'The model is ready for requests again.',
  ])
})

test.each(['listOffers', 'provision', 'ensureEngine'] as const)(
  'a runtime error in %s is retried, and its text appears only in the log',
  async (name) => {
    runtime.answer({
      [name]: () => {
        throw new Error('secret inner workings')
      },
    })
    const id = await create()
    await expect
      .poll(async () => (await read(id)).status_message)
      .toBe('The compute backend returned an error. Retrying.')
    expect((await read(id)).waiting_for).toBe('retry')
    expect(server.logs.some((line) => line.includes('secret inner workings'))).toBe(true)
    expect(JSON.stringify((await client.get(`${path}/${id}/events`)).body)).not.toContain('secret')
    runtime.reset()
    await waitForStatus(client, id, 'running')
  },
)

/** Lets a deployment's instances be in their status for so many milliseconds. */
async function age(id: string, milliseconds: number): Promise<void> {
  const since = new Date(Date.now() - milliseconds)
  await server.application.db
    .updateTable('instances')
    .set({ status_changed_at: since, updated_at: since })
    .where('deployment_id', '=', id)
    .execute()
}

test('a server that lacks file descriptors says so, and gives neither a start nor an engine up', async () => {
  const lack = () => {
    throw new Error('fetch failed', { cause: Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' }) })
  }
  const expectMessage = async (message: string | null) =>
    expect.poll(async () => (await read(id)).status_message, pollOptions).toBe(message)
  runtime.answer({ provision: lack, observeEngine: lack })
  const id = await create()
  await expectMessage('The server has no file descriptors left. Retrying.')
  await age(id, 11 * 60_000)
  const tries = runtime.callsFor(id).length
  await makeDue(id)
  await expect.poll(() => runtime.callsFor(id).length, pollOptions).toBeGreaterThan(tries)
  runtime.reset()
  runtime.answer({ observeEngine: lack })
  await makeDue(id)
  await waitForStatus(client, id, 'running')
  await makeDue(id)
  await expectMessage('The server has no file descriptors left. Retrying.')
  expect((await read(id)).status).toBe('running')
  runtime.reset()
  await makeDue(id)
  await expectMessage(null)
  expect(runtime.callsFor(id)).not.toContain('stopEngine')
})

test('a runtime that fails to provision for 10 minutes: failed with provision_timeout', async () => {
  runtime.answer({
    provision: () => {
      throw new Error('timed out')
    },
  })
  const id = await create()
  await expect.poll(async () => (await read(id)).waiting_for).toBe('retry')
  await age(id, 11 * 60_000)
  await makeDue(id)
  expect(await waitForStatus(client, id, 'failed')).toMatchObject({
    failure_stage: 'provisioning',
    failure_reason: expect.stringMatching(/^provision_timeout: /),
  })
})
