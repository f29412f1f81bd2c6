import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { joinRuntimes } from '../../../../src/adapters/model-runtime/join-runtimes.ts'
import { listOrphans, sweepOrphans } from '../../../../src/features/deployments/fleet/sweep-orphans.ts'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { waitForStatus } from '../../../support/deployments.ts'
import { checkNow, makeDue } from '../../../support/reconcile.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import type { Script } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/model-deployments'
const pollOptions = { timeout: 20_000 }
const runtime = createScriptedRuntime()

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ runtime })
  client = await registerClient(server.url)
})
afterEach(() => runtime.reset())
afterAll(() => server.close())

async function create(): Promise<string> {
  return (await client.post(path, { model_name: 'berth-tiny' })).body.id
}

async function read(id: string) {
  return (await client.get(`${path}/${id}`)).body
}

function fail(): never {
  throw new Error('runtime error')
}

async function listStatuses(id: string): Promise<string[]> {
  const { items } = (await client.get(`${path}/${id}/events`)).body
  return items
    .map(({ status }: { status: string }) => status)
    .filter((status: string, at: number, all: string[]) => status !== all[at - 1])
}

test.each([
  ['requested', { listOffers: fail }],
  ['provisioning', { provision: fail }],
  ['deploying', { ensureEngine: () => ({ phase: 'starting', message: 'Soon.' }) }],
  ['running', {}],
  ['failed', { provision: () => ({ outcome: 'refused', code: 'quota_exceeded', message: 'No.' }) }],
] as [string, Partial<Script>][])(
  'DELETE of a %s deployment: 200 terminating, then terminated without an instance',
  async (status, script) => {
    runtime.answer(script)
    const id = await create()
    await waitForStatus(client, id, status)
    const answer = await client.delete(`${path}/${id}`)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ status: 'terminating', terminated_at: null })
    await waitForStatus(client, id, 'terminated')
    expect(runtime.allocated).not.toContain(id)
    expect(await listStatuses(id)).toEqual(expect.arrayContaining([status, 'terminating', 'terminated']))
  },
)

test('DELETE of a terminating deployment: 200, the same row, no further event', async () => {
  runtime.answer({ release: () => false })
  const id = await create()
  await waitForStatus(client, id, 'running')
  const first = await client.delete(`${path}/${id}`)
  const second = await client.delete(`${path}/${id}`)
  expect(second.status).toBe(200)
  expect(second.body).toEqual(first.body)
  await vi.waitFor(
    () => expect(runtime.callsFor(id).filter((call) => call === 'release').length).toBeGreaterThan(1),
    pollOptions,
  )
  expect((await read(id)).status).toBe('terminating')
  runtime.reset()
  await waitForStatus(client, id, 'terminated')
  const { items } = (await client.get(`${path}/${id}/events`)).body
  expect(items.filter((event: { status: string }) => event.status === 'terminating')).toHaveLength(1)
})

test('ten concurrent DELETEs: all 200, one termination', async () => {
  const id = await create()
  await waitForStatus(client, id, 'running')
  const answers = await Promise.all(Array.from({ length: 10 }, () => client.delete(`${path}/${id}`)))
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
  for (const { body } of answers) expect(body.status).toMatch(/^terminat(ing|ed)$/)
  await waitForStatus(client, id, 'terminated')
  const { items } = (await client.get(`${path}/${id}/events`)).body
  expect(items.filter((event: { status: string }) => event.status === 'terminating')).toHaveLength(1)
})

test('a failing cleanup stays terminating with cleanup_failed and is retried until it succeeds', async () => {
  const id = await create()
  await waitForStatus(client, id, 'running')
  runtime.answer({ release: fail })
  await client.delete(`${path}/${id}`)
  await expect.poll(async () => (await read(id)).failure_stage).toBe('termination')
  expect(await read(id)).toMatchObject({
    status: 'terminating',
    waiting_for: 'retry',
    failure_reason: expect.stringMatching(/^cleanup_failed: (?!.*runtime error)/),
    terminated_at: null,
  })
  for (let failures = 1; failures < 3; failures += 1) await checkNow(server, id)
  expect(runtime.callsFor(id).filter((call) => call === 'release').length).toBeGreaterThan(2)
  const { items } = (await client.get(`${path}/${id}/events`)).body
  const failures = items.filter(({ message }: { message: string }) => message.startsWith('cleanup_failed'))
  expect(failures, 'reported once').toHaveLength(1)
  runtime.reset()
  await makeDue(server, id)
  expect(await waitForStatus(client, id, 'terminated')).toMatchObject({
    waiting_for: null,
    failure_stage: null,
    failure_reason: null,
    terminated_at: expect.stringMatching(/Z$/),
  })
})

test('a cleanup failure does not remove the original failure from the events', async () => {
  runtime.answer({
    ensureEngine: () => ({ phase: 'failed', stage: 'model_download', code: 'disk_full', message: 'No.' }),
    release: fail,
  })
  const id = await create()
  await waitForStatus(client, id, 'failed')
  await client.delete(`${path}/${id}`)
  await expect.poll(async () => (await read(id)).failure_reason).toMatch(/^cleanup_failed/)
  runtime.reset()
  await waitForStatus(client, id, 'terminated')
  const { items } = (await client.get(`${path}/${id}/events`)).body
  expect(items).toContainEqual(expect.objectContaining({ status: 'failed', message: 'disk_full: No.' }))
})

test('a failed deployment retries the release of its instance until it is confirmed', async () => {
  runtime.answer({
    ensureEngine: () => ({ phase: 'failed', stage: 'model_launch', code: 'launch_rejected', message: 'No.' }),
    release: fail,
  })
  const id = await create()
  await waitForStatus(client, id, 'failed')
  await vi.waitFor(() => expect(runtime.callsFor(id)).toContain('release'), pollOptions)
  expect(runtime.allocated).toContain(id)
  runtime.reset()
  await vi.waitFor(() => expect(runtime.allocated).not.toContain(id), pollOptions)
  expect(await read(id)).toMatchObject({ status: 'failed', failure_reason: 'launch_rejected: No.' })
  await expect.poll(async () => (await read(id)).status_message).toBeNull()
})

test('a deployment that failed without an instance clears status_message once its release is confirmed', async () => {
  runtime.answer({
    provision: () => ({ outcome: 'refused', code: 'quota_exceeded', message: 'No.' }),
    release: fail,
  })
  const id = await create()
  await expect.poll(async () => (await read(id)).waiting_for).toBe('retry')
  runtime.reset()
  await expect.poll(async () => (await read(id)).status_message).toBeNull()
  expect(await read(id)).toMatchObject({ status: 'failed', failure_reason: 'quota_exceeded: No.' })
})

test('sweepOrphans releases only resources of unknown and terminated deployments', async () => {
  const [running, ended] = [await create(), await create()]
  await waitForStatus(client, running, 'running')
  await waitForStatus(client, ended, 'running')
  await client.delete(`${path}/${ended}`)
  await waitForStatus(client, ended, 'terminated')
  const unknown = randomUUID()
  runtime.allocated.add(unknown).add(ended)
  await sweepOrphans(server.application)
  expect(runtime.allocated).toContain(running)
  expect(runtime.allocated).not.toContain(unknown)
  expect(runtime.allocated).not.toContain(ended)
  expect(runtime.callsFor(running)).not.toContain('release')
})

test('sweepOrphans releases resources of a failed deployment only after its own release has finished', async () => {
  runtime.answer({
    ensureEngine: () => ({ phase: 'failed', stage: 'model_launch', code: 'launch_rejected', message: 'No.' }),
  })
  const readDue = async (id: string) =>
    server.application.db
      .selectFrom('deployments')
      .select('reconcile_at')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
  const late = await create()
  await expect.poll(() => readDue(late)).toEqual({ reconcile_at: null })
  runtime.allocated.add(late)
  runtime.answer({ release: (id) => id === late })
  const busy = await create()
  await waitForStatus(client, busy, 'failed')
  expect(runtime.allocated).toContain(busy)
  expect((await listOrphans(server.application)).map(({ id }) => id)).toEqual([late])
  await sweepOrphans(server.application)
  expect(runtime.allocated).not.toContain(late)
})

test('sweepOrphans continues after an orphan that can’t be released', async () => {
  const [stuck, loose] = [randomUUID(), randomUUID()]
  runtime.allocated.add(stuck).add(loose)
  runtime.answer({ release: (id) => (id === stuck ? fail() : true) })
  await sweepOrphans(server.application)
  expect(runtime.allocated).toContain(stuck)
  expect(runtime.allocated).not.toContain(loose)
})

test('an engine that is released while orphans are listed is none of them', async () => {
  const gone = randomUUID()
  let listings = 0
  const releasing = Object.assign(Object.create(runtime), {
    listEngineIds: async () => [...(await runtime.listEngineIds()), ...(listings++ === 0 ? [gone] : [])],
  })
  const { db, log } = server.application
  const orphans = await listOrphans({ db, log, runtimes: joinRuntimes([releasing], log) })
  expect(orphans.map(({ id }) => id)).not.toContain(gone)
  expect(listings).toBe(2)
})
