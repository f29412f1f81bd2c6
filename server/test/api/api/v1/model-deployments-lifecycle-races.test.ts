import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { notify } from '../../../../src/database/notifications.ts'
import { leaseDueDeployments, renewLeases } from '../../../../src/features/deployments/lease-store.ts'
import { canTransition } from '../../../../src/features/deployments/lifecycle.ts'
import type { DeploymentStatus } from '../../../../src/features/deployments/lifecycle.ts'
import { reconcileDeployment } from '../../../../src/features/deployments/reconcile.ts'
import { requeueNow } from '../../../../src/features/deployments/store.ts'
import type { EngineObservation, FailureCode, ProvisionResult } from '../../../../src/ports/model-runtime.ts'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { createScriptedRuntime, makeOffer } from '../../../support/scripted-runtime.ts'
import type { Script } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/model-deployments'
const runtime = createScriptedRuntime()

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ runtime, worker: false })
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

async function listEvents(id: string): Promise<{ status: DeploymentStatus }[]> {
  return (await client.get(`${path}/${id}/events`)).body.items
}

async function makeDue(id: string): Promise<void> {
  await server.application.db
    .updateTable('deployments')
    .set({ reconcile_at: new Date(0) })
    .where('id', '=', id)
    .where('status', '!=', 'terminated')
    .execute()
}

/** What one worker does in one round, the longest due first. */
async function work(worker: string, { limit = 1, leaseSeconds = 60 } = {}): Promise<void> {
  const leased = await leaseDueDeployments(server.application.db, worker, leaseSeconds, limit)
  await Promise.all(leased.map((deployment) => reconcileDeployment(server.application, deployment)))
}

/** Has a worker look at a deployment, and returns in how many seconds it is looked at next. */
async function lookAndReadWait(id: string): Promise<number> {
  await makeDue(id)
  await work('one', { limit: 100 })
  const wait = sql<number>`extract(epoch from reconcile_at - now())::float`
  const row = server.application.db.selectFrom('deployments').select(wait.as('seconds')).where('id', '=', id)
  return (await row.executeTakeFirstOrThrow()).seconds
}

function out(): never {
  throw new Error('out of order')
}

const instance = { instanceId: 'i', clusterId: 'c', gpuAllocationId: 'g', region: 'r', startedAt: new Date() }
const codes: FailureCode[] = [
  'no_capacity',
  'quota_exceeded',
  'engine_crashed',
  'download_failed',
  'instance_lost',
]
const aFailure = fc
  .constantFrom(...codes)
  .map((code): EngineObservation => ({ phase: 'failed', stage: 'runtime', code, message: 'No.' }))
const anObservation = fc.oneof(
  fc.constantFrom<EngineObservation>(
    { phase: 'absent' },
    { phase: 'starting', message: 'Soon.' },
    { phase: 'downloading', message: 'Half.', receivedBytes: 1, totalBytes: 2 },
  ),
  fc.constantFrom(9, 10).map((port): EngineObservation => ({
    phase: 'ready',
    endpoint: { baseUrl: `http://127.0.0.1:${port}` },
  })),
  aFailure,
)
const aProvisioning = fc.oneof(
  { weight: 3, arbitrary: fc.constant<ProvisionResult>({ outcome: 'provisioned', instance }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...codes)
      .map((code): ProvisionResult => ({ outcome: 'refused', code, message: 'No.' })),
  },
)

/** Answers of one kind, one in nine of them a fault. */
function answering<Result>(result: fc.Arbitrary<Result>): fc.Arbitrary<() => Result> {
  return fc.oneof(
    { weight: 8, arbitrary: result.map((value) => () => value) },
    { weight: 1, arbitrary: fc.constant(out) },
  )
}

const offers = [makeOffer('one'), makeOffer('two')]
const aScript: fc.Arbitrary<Script> = fc.record({
  listOffers: answering(fc.constantFrom(1, 1, 2, 2, 0).map((count) => offers.slice(0, count))),
  provision: answering(aProvisioning),
  ensureEngine: answering(anObservation),
  observeEngine: answering(anObservation),
  stopEngine: answering(fc.boolean()),
  release: answering(fc.boolean()),
})
const aMove = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ script: aScript, deletes: fc.constant(false), works: fc.constant(true) }),
  },
  { weight: 1, arbitrary: fc.record({ script: aScript, deletes: fc.constant(true), works: fc.boolean() }) },
)

test('whatever the runtime answers and whenever the user deletes: legal transitions only, and nothing is left held', async () => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(aMove, { minLength: 1, maxLength: 10 }), async (moves) => {
      runtime.reset()
      const id = await create()
      for (const { script, deletes, works } of moves) {
        runtime.answer(script)
        await makeDue(id)
        await Promise.all([deletes ? client.delete(`${path}/${id}`) : null, works ? work('one') : null])
        const { status, terminated_at, failure_stage } = await read(id)
        expect(terminated_at !== null).toBe(status === 'terminated')
        if (status === 'failed') expect(failure_stage).not.toBeNull()
        if (status === 'terminated') expect(runtime.held).not.toContain(id)
      }
      runtime.reset()
      await client.delete(`${path}/${id}`)
      await makeDue(id)
      await work('one')
      expect((await read(id)).status).toBe('terminated')
      expect(runtime.held).not.toContain(id)
      const statuses = (await listEvents(id)).map(({ status }) => status)
      expect(statuses[0]).toBe('requested')
      for (const [at, to] of statuses.slice(1).entries()) {
        const from = statuses[at]!
        expect(from === to || canTransition(from, to), `${from} became ${to}`).toBe(true)
        if (from !== to) seen.add(`${from} ${to}`)
      }
    }),
    { numRuns: 60 },
  )
  // The property says little unless the moves lead about.
  for (const transition of [
    'deploying running',
    'running failed',
    'provisioning failed',
    'failed terminating',
  ]) {
    expect(seen).toContain(transition)
  }
})

test('two workers on the same twenty deployments never provision one twice', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, create))
  for (let round = 0; round < 4; round += 1)
    await Promise.all([work('one', { limit: 16 }), work('two', { limit: 16 })])
  for (const id of ids) {
    expect((await read(id)).status).toBe('running')
    expect(runtime.callsFor(id).filter((call) => call === 'provision')).toHaveLength(1)
    expect((await listEvents(id)).map(({ status }) => status)).toEqual([
      'requested',
      'provisioning',
      'deploying',
      'running',
    ])
  }
})

const failure: EngineObservation = {
  phase: 'failed',
  stage: 'model_launch',
  code: 'launch_rejected',
  message: 'Stale.',
}
test.each([
  ['refused', 'provision', { outcome: 'refused', code: 'provider_error', message: 'Stale.' }],
  ['provisioned', 'provision', { outcome: 'provisioned', instance: { ...instance, instanceId: 'stale' } }],
  ['failed to start', 'ensureEngine', failure],
  ['started', 'ensureEngine', { phase: 'ready', endpoint: { baseUrl: 'http://stale' } }],
  ['failed by a throw', 'ensureEngine', null],
] as const)(
  'a worker whose lease was taken over writes nothing: it finds that the engine was %s',
  async (_what, name, answer) => {
    const id = await create()
    const entered = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    let first = true
    const usual = {
      provision: { outcome: 'provisioned', instance },
      ensureEngine: { phase: 'starting', message: '…' },
    }
    runtime.answer({
      [name]: async () => {
        if (!first) return usual[name]
        first = false
        entered.resolve()
        await gate.promise
        return answer ?? out()
      },
      ...(name === 'provision' ? { ensureEngine: () => usual.ensureEngine as EngineObservation } : {}),
    })
    await makeDue(id)
    const late = work('late', { leaseSeconds: 0 })
    await entered.promise
    await makeDue(id)
    await work('successor')
    const [row, events] = [await read(id), await listEvents(id)]
    expect(row).toMatchObject({ status: 'deploying', status_message: '…' })
    gate.resolve()
    await late
    expect(await read(id)).toEqual(row)
    expect(await listEvents(id)).toEqual(events)
  },
)

test('a fault is tried again after a second, however long the deployment has run, and later the longer it lasts', async () => {
  const { db } = server.application
  const id = await create()
  await makeDue(id)
  await work('one', { limit: 100 })
  const hourAgo = new Date(Date.now() - 3_600_000)
  const change = (changes: { status_changed_at?: Date; updated_at: Date }) =>
    db.updateTable('deployments').set(changes).where('id', '=', id).execute()
  await change({ status_changed_at: hourAgo, updated_at: hourAgo })
  runtime.answer({ observeEngine: out })
  expect(await lookAndReadWait(id)).toBeLessThanOrEqual(1)
  await change({ updated_at: hourAgo })
  expect(await lookAndReadWait(id)).toBeGreaterThan(1)
})

test('a release that is not confirmed is asked for at once, and later every five seconds', async () => {
  const { db } = server.application
  const id = await create()
  runtime.answer({ release: () => false })
  await client.delete(`${path}/${id}`)
  expect(await lookAndReadWait(id)).toBeLessThan(1)
  const hourAgo = new Date(Date.now() - 3_600_000)
  await db.updateTable('deployments').set({ status_changed_at: hourAgo }).where('id', '=', id).execute()
  expect(await lookAndReadWait(id)).toBeGreaterThan(1)
})

test.each([
  [-60, true],
  [-0.5, false],
  [0.5, false],
  [5, true],
])('a request that fails has a worker look now, one due in %d s: %s', async (seconds, isTold) => {
  const { db, notifications } = server.application
  const id = await create()
  await makeDue(id)
  await work('one', { limit: 100 })
  const woken: string[] = []
  const unsubscribe = notifications.subscribe('deployment_due', (about) => woken.push(about))
  // The time in a transaction stands still.
  await db.transaction().execute(async (transaction) => {
    const due = sql<Date>`now() + make_interval(secs => ${seconds})`
    await transaction.updateTable('deployments').set({ reconcile_at: due }).where('id', '=', id).execute()
    await requeueNow(transaction, id)
    const found = transaction.selectFrom('deployments').select(sql<boolean>`reconcile_at = now()`.as('isNow'))
    expect(await found.where('id', '=', id).executeTakeFirst()).toEqual({ isNow: isTold })
  })
  await notify(db, 'deployment_due', 'the last')
  await expect.poll(() => woken.at(-1), { timeout: 20_000 }).toBe('the last')
  unsubscribe()
  expect(woken).toEqual(isTold ? [id, 'the last'] : ['the last'])
})

test('a worker keeps the leases of what it works on, and one that it gave up runs out', async () => {
  const { db } = server.application
  const [kept, givenUp] = [await create(), await create()]
  for (const id of [kept, givenUp]) await makeDue(id)
  const leased = await leaseDueDeployments(db, 'one', 0, 2)
  expect(leased.map(({ id }) => id).toSorted()).toEqual([kept, givenUp].toSorted())
  await renewLeases(db, 'one', [kept], 60)
  await renewLeases(db, 'two', [givenUp], 60)
  expect((await leaseDueDeployments(db, 'two', 60, 1)).map(({ id }) => id)).toEqual([givenUp])
})
