import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { notify } from '../../../../src/database/notifications.ts'
import { leaseDueDeployments, renewLeases } from '../../../../src/features/deployments/fleet/lease-store.ts'
import { deploymentTransitions } from '../../../../src/features/deployments/state/lifecycle.ts'
import type { DeploymentStatus } from '../../../../src/features/deployments/state/lifecycle.ts'
import { createPassBatches } from '../../../../src/features/deployments/fleet/pass-batches.ts'
import { reconcileDeployment } from '../../../../src/features/deployments/fleet/reconcile.ts'
import { reportEngine } from '../../../../src/features/deployments/serving/report-engine.ts'
import type { FailureCode } from '../../../../src/ports/engine-failures.ts'
import type { EngineObservation, ProvisionResult } from '../../../../src/ports/model-runtime.ts'
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
  // Of several instances, each has a time.
  await server.application.db
    .updateTable('instances')
    .set({ due_at: null })
    .where('deployment_id', '=', id)
    .execute()
  await server.application.db
    .updateTable('deployments')
    .set({ reconcile_at: new Date(0) })
    .where('id', '=', id)
    .where('status', '!=', 'terminated')
    .execute()
}

/** One pass of a worker over the longest overdue deployments. */
async function runPass(worker: string, { limit = 1, leaseSeconds = 60 } = {}): Promise<void> {
  const { application } = server
  const batches = createPassBatches(application.db)
  const leased = await leaseDueDeployments(application.db, worker, leaseSeconds, limit)
  await Promise.all(leased.map((deployment) => reconcileDeployment(application, batches, deployment)))
}

/** Reconciles a deployment and returns the seconds until its next pass. */
async function reconcileAndReadDelay(id: string): Promise<number> {
  await makeDue(id)
  await runPass('one', { limit: 100 })
  const wait = sql<number>`extract(epoch from reconcile_at - now())::float`
  const row = server.application.db.selectFrom('deployments').select(wait.as('seconds')).where('id', '=', id)
  return (await row.executeTakeFirstOrThrow()).seconds
}

function fail(): never {
  throw new Error('runtime error')
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

/** Arbitrary answers, one in nine of them an error. */
function answersWith<Result>(result: fc.Arbitrary<Result>): fc.Arbitrary<() => Result> {
  return fc.oneof(
    { weight: 8, arbitrary: result.map((value) => () => value) },
    { weight: 1, arbitrary: fc.constant(fail) },
  )
}

const offers = [makeOffer('one'), makeOffer('two')]
const aScript: fc.Arbitrary<Partial<Script>> = fc.record({
  listOffers: answersWith(fc.constantFrom(1, 1, 2, 2, 0).map((count) => offers.slice(0, count))),
  provision: answersWith(aProvisioning),
  ensureEngine: answersWith(anObservation),
  observeEngine: answersWith(anObservation),
  stopEngine: answersWith(fc.boolean()),
  release: answersWith(fc.boolean()),
})
const aMove = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ script: aScript, deletes: fc.constant(false), works: fc.constant(true) }),
  },
  { weight: 1, arbitrary: fc.record({ script: aScript, deletes: fc.constant(true), works: fc.boolean() }) },
)

const provision = (): ProvisionResult => ({ outcome: 'refused', code: 'quota_exceeded', message: 'No.' })
/** Its moves bring `failed` from `provisioning`, which sixty random histories can miss. */
const refusedHistory = [
  { script: { provision }, deletes: false, works: true } as const,
  { script: { provision }, deletes: true, works: true } as const,
]

test('for any runtime answers and deletes: only legal transitions, and no instance is leaked', async () => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(aMove, { minLength: 1, maxLength: 10 }), async (moves) => {
      runtime.reset()
      const id = await create()
      for (const { script, deletes, works } of moves) {
        runtime.answer(script)
        await makeDue(id)
        await Promise.all([deletes ? client.delete(`${path}/${id}`) : null, works ? runPass('one') : null])
        const { status, terminated_at, failure_stage } = await read(id)
        expect(terminated_at !== null).toBe(status === 'terminated')
        if (status === 'failed') expect(failure_stage).not.toBeNull()
        if (status === 'terminated') expect(runtime.allocated).not.toContain(id)
      }
      runtime.reset()
      await client.delete(`${path}/${id}`)
      await makeDue(id)
      await runPass('one')
      expect((await read(id)).status).toBe('terminated')
      expect(runtime.allocated).not.toContain(id)
      const statuses = (await listEvents(id)).map(({ status }) => status)
      expect(statuses[0]).toBe('requested')
      for (const [at, to] of statuses.slice(1).entries()) {
        const from = statuses[at]!
        if (from === to) continue
        expect(deploymentTransitions[from], `${from} became ${to}`).toContain(to)
        seen.add(`${from} ${to}`)
      }
    }),
    { numRuns: 60, examples: [[refusedHistory]] },
  )
  // Make sure that the histories cover the interesting transitions.
  for (const transition of [
    'deploying running',
    'running deploying',
    'provisioning failed',
    'failed terminating',
  ]) {
    expect(seen).toContain(transition)
  }
})

test('two workers never provision the same deployment twice', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, create))
  for (let round = 0; round < 4; round += 1)
    await Promise.all([runPass('one', { limit: 16 }), runPass('two', { limit: 16 })])
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
] as const)('a worker that has lost its lease writes nothing: engine %s', async (_what, name, answer) => {
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
      return answer ?? fail()
    },
    ...(name === 'provision' ? { ensureEngine: () => usual.ensureEngine as EngineObservation } : {}),
  })
  await makeDue(id)
  const late = runPass('late', { leaseSeconds: 0 })
  await entered.promise
  await makeDue(id)
  await runPass('successor')
  const [row, events] = [await read(id), await listEvents(id)]
  expect(row).toMatchObject({ status: 'deploying', status_message: '…' })
  gate.resolve()
  await late
  expect(await read(id)).toEqual(row)
  expect(await listEvents(id)).toEqual(events)
})

test('an error is retried after a second, and less often the longer it lasts', async () => {
  const { db } = server.application
  const id = await create()
  await makeDue(id)
  await runPass('one', { limit: 100 })
  const hourAgo = new Date(Date.now() - 3_600_000)
  const change = (changes: { status_changed_at?: Date; updated_at: Date }) =>
    db.updateTable('instances').set(changes).where('deployment_id', '=', id).execute()
  await change({ status_changed_at: hourAgo, updated_at: hourAgo })
  runtime.answer({ observeEngine: fail })
  expect(await reconcileAndReadDelay(id)).toBeLessThanOrEqual(1)
  await change({ updated_at: hourAgo })
  expect(await reconcileAndReadDelay(id)).toBeGreaterThan(1)
})

test('an unconfirmed release is polled immediately, and later every five seconds', async () => {
  const { db } = server.application
  const id = await create()
  await db.updateTable('instances').set({ runtime: runtime.name }).where('deployment_id', '=', id).execute()
  runtime.answer({ release: () => false })
  await client.delete(`${path}/${id}`)
  expect(await reconcileAndReadDelay(id)).toBeLessThan(1)
  const hourAgo = new Date(Date.now() - 3_600_000)
  await db
    .updateTable('instances')
    .set({ status_changed_at: hourAgo })
    .where('deployment_id', '=', id)
    .execute()
  expect(await reconcileAndReadDelay(id)).toBeGreaterThan(1)
})

test.each([
  ['unresponsive', -60, true],
  ['unresponsive', -0.5, false],
  ['unresponsive', 0.5, false],
  ['unresponsive', 5, true],
  // A pass in progress may have asked the runtime before the loss.
  ['lost', -0.5, true],
  ['lost', 0.5, true],
] as const)(
  'an engine that is %s requeues a deployment that is due in %d s: %s',
  async (reason, seconds, isRequeued) => {
    const { db, notifications } = server.application
    const id = await create()
    await makeDue(id)
    await runPass('one', { limit: 100 })
    const { instances } = await read(id)
    const woken: string[] = []
    const unsubscribe = notifications.subscribe('deployment_due', (about) => woken.push(about))
    // Notifications of the pass may still arrive.
    await notify(db, 'deployment_due', 'the first')
    await expect.poll(() => woken.at(-1)).toBe('the first')
    woken.length = 0
    // now() is constant within a transaction.
    await db.transaction().execute(async (transaction) => {
      const due = sql<Date>`now() + make_interval(secs => ${seconds})`
      await transaction.updateTable('deployments').set({ reconcile_at: due }).where('id', '=', id).execute()
      await reportEngine(transaction, instances[0].id, reason)
      const found = transaction
        .selectFrom('deployments')
        .select(sql<boolean>`reconcile_at = now()`.as('isNow'))
      expect(await found.where('id', '=', id).executeTakeFirst()).toEqual({ isNow: isRequeued })
    })
    await notify(db, 'deployment_due', 'the last')
    await expect.poll(() => woken.at(-1)).toBe('the last')
    unsubscribe()
    expect(woken).toEqual(isRequeued ? [id, 'the last'] : ['the last'])
  },
)

test('a worker renews only its own leases, and other leases expire', async () => {
  const { db } = server.application
  const [renewed, expired] = [await create(), await create()]
  for (const id of [renewed, expired]) await makeDue(id)
  const leased = await leaseDueDeployments(db, 'one', 0, 2)
  expect(leased.map(({ id }) => id).toSorted()).toEqual([renewed, expired].toSorted())
  await renewLeases(db, 'one', [renewed], 60)
  await renewLeases(db, 'two', [expired], 60)
  expect((await leaseDueDeployments(db, 'two', 60, 1)).map(({ id }) => id)).toEqual([expired])
})
