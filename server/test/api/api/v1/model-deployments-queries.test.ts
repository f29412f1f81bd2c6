import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { insertInstance, makeInstance } from '../../../../src/features/deployments/state/instance-store.ts'
import { leaseDueDeployments } from '../../../../src/features/deployments/fleet/lease-store.ts'
import { createPassBatches } from '../../../../src/features/deployments/fleet/pass-batches.ts'
import { reconcileDeployment } from '../../../../src/features/deployments/fleet/reconcile.ts'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/model-deployments'
const runtime = createScriptedRuntime()

let server: TestServer
let clients: Client[]
beforeAll(async () => {
  server = await startTestServer({ runtime, worker: false })
  clients = await Promise.all(Array.from({ length: 3 }, () => registerClient(server.url)))
})
/** The deployments of one test must not be due in the next, however long it takes. */
afterEach(async () => {
  vi.restoreAllMocks()
  await server.application.db.updateTable('deployments').set({ reconcile_at: null }).execute()
})
afterAll(() => server.close())

/** Runs `work` and returns the statements of the reconciler and the ledger that it sent to PostgreSQL. */
async function recordQueries(work: () => Promise<void>): Promise<string[]> {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  await work()
  const sent = query.mock.calls.map(([each]) => each as unknown as string | { text: string })
  const texts = sent.map((each) => (typeof each === 'string' ? each : each.text))
  return texts.filter((text) =>
    /begin|commit|deployments|instances|instance_spans|usage_cursors|budgets/i.test(text),
  )
}

/** One pass of a worker over all due deployments. */
async function runPass(count: number): Promise<void> {
  const { application } = server
  const batches = createPassBatches(application.db)
  const leased = await leaseDueDeployments(application.db, 'worker', 60, 100)
  expect(leased).toHaveLength(count)
  await Promise.all(leased.map((deployment) => reconcileDeployment(application, batches, deployment)))
}

test.each([
  { count: 1, most: 18 },
  { count: 30, most: 30 },
])('after $most queries of a worker at most, $count deployments run', async ({ count, most }) => {
  const ids: string[] = []
  for (let index = 0; index < count; index += 1) {
    const { status, body } = await clients[index % clients.length]!.post(path, { model_name: 'berth-tiny' })
    expect(status).toBe(201)
    ids.push(body.id)
  }
  const queries = await recordQueries(() => runPass(count))
  for (const [index, id] of ids.entries()) {
    expect((await clients[index % clients.length]!.get(`${path}/${id}`)).body.status).toBe('running')
  }
  expect(queries.length, queries.map((text) => text.slice(0, 100)).join('\n')).toBeLessThanOrEqual(most)
})

test('in a batch, a lost lease and a change that the database refuses stop only their own deployments', async () => {
  const { db } = server.application
  for (let index = 0; index < 3; index += 1) await clients[0]!.post(path, { model_name: 'berth-tiny' })
  const leased = await leaseDueDeployments(db, 'worker', 60, 3)
  const batches = createPassBatches(db)
  const at = new Date()
  const results = await Promise.allSettled(
    leased.map(({ id, status, lease_number: number }, index) =>
      batches.changes.add({
        id,
        status,
        lease: { deploymentId: id, number: index === 1 ? number - 1 : number },
        changes: { progress: 0.5 },
        due: 'unchanged',
        event: { stage: 'test', message: index === 2 ? 'refused: \0' : 'written' },
        at,
        spans: [],
      }),
    ),
  )
  expect(results).toMatchObject([
    { status: 'fulfilled', value: { id: leased[0]!.id, progress: 0.5 } },
    { status: 'fulfilled', value: undefined },
    { status: 'rejected' },
  ])
  const events = await db
    .selectFrom('deployment_events')
    .select(['deployment_id', 'message'])
    .where('stage', '=', 'test')
    .execute()
  expect(events).toEqual([{ deployment_id: leased[0]!.id, message: 'written' }])
})

test('in a batch, times of instances are written, and a deployment whose owner wants something else stays', async () => {
  const { db } = server.application
  for (let index = 0; index < 2; index += 1) await clients[0]!.post(path, { model_name: 'berth-tiny' })
  const leased = await leaseDueDeployments(db, 'worker', 60, 2)
  const rows = leased.map((deployment) => makeInstance(deployment, new Date()))
  for (const row of rows) await insertInstance(db, row)
  const batches = createPassBatches(db)
  const asked = new Date('2026-01-02T03:04:05.678Z')
  const results = await Promise.all(
    leased.map(({ id, status, lease_number: number }, index) =>
      batches.changes.add({
        id,
        status,
        desired_state: index === 0 ? 'awake' : 'asleep',
        lease: { deploymentId: id, number },
        changes: {},
        instance: { kind: 'change', id: rows[index]!.id, columns: { hardware_asked_at: asked } },
        due: 'unchanged',
        event: null,
        at: new Date(),
      }),
    ),
  )
  expect(results.map((changed) => changed?.id)).toEqual([leased[0]!.id, undefined])
  const times = await db
    .selectFrom('instances')
    .select(['id', 'hardware_asked_at'])
    .where('id', 'in', [rows[0]!.id, rows[1]!.id])
    .execute()
  expect(new Map(times.map(({ id, hardware_asked_at: time }) => [id, time]))).toEqual(
    new Map([
      [rows[0]!.id, asked],
      [rows[1]!.id, null],
    ]),
  )
})

test('a deployment that is made due during its own pass stays due', async () => {
  const { db } = server.application
  // Deployments of earlier tests may be due by now.
  await db.updateTable('deployments').set({ reconcile_at: null }).execute()
  const ids: string[] = []
  for (let index = 0; index < 2; index += 1) {
    ids.push((await clients[0]!.post(path, { model_name: 'berth-tiny' })).body.id)
  }
  const leased = await leaseDueDeployments(db, 'worker', 60, 2)
  await db
    .updateTable('deployments')
    .set({ reconcile_at: sql`now() - interval '1 second'` })
    .where('id', '=', ids[0]!)
    .execute()
  const batches = createPassBatches(db)
  const steps = [{ instanceId: randomUUID(), waitMilliseconds: 60_000 }]
  const areDue = await Promise.all(
    leased.map(async ({ id, status, reconcile_at: reconcileAt, lease_number: number }) => {
      const lease = { deploymentId: id, number }
      return [id, await batches.releases.add({ lease, expected: { status, reconcileAt }, steps })] as const
    }),
  )
  expect(new Map(areDue)).toEqual(
    new Map([
      [ids[0]!, true],
      [ids[1]!, false],
    ]),
  )
})
