import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkLedger } from '../../src/features/metering/checks.ts'
import { addHours, floorHour } from '../../src/features/metering/hours.ts'
import { settleUsage } from '../../src/features/metering/settle.ts'
import { changeSpans } from '../../src/features/metering/spans.ts'
import { registerClient } from '../support/client.ts'
import { day, hour } from '../support/clock.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let now = addHours(floorHour(new Date()), 0.5)
const minute = 60_000
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, clock: () => now })
})
afterAll(() => server.close())

const pass = (milliseconds: number) => {
  now = new Date(now.getTime() + milliseconds)
}

/** Settles every minute. */
async function settleFor(minutes: number): Promise<void> {
  for (let passed = 0; passed < minutes; passed++) {
    pass(minute)
    await settleUsage(server.application)
  }
}

async function deploy() {
  const client = await registerClient(server.url)
  const { body: account } = await client.get('/v1/billing/account')
  const { body } = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  const organizationId: number = account.organization_id
  const deployment = {
    engineId: body.instances[0].id as string,
    deploymentId: body.id as string,
    organizationId,
    instanceType: 'local-cpu',
    requestedAt: now,
  }
  return { client, organizationId, deployment }
}

type Deployment = Awaited<ReturnType<typeof deploy>>['deployment']

const openSpan = (instance: Deployment) =>
  server.application.db.transaction().execute((transaction) =>
    changeSpans(transaction, [
      { kind: 'open', instance, hardware: { instanceId: 'i', region: 'local', startedAt: now }, now },
      { kind: 'confirm', instance, now },
    ]),
  )

const closeSpan = (instance: Deployment) =>
  server.application.db
    .transaction()
    .execute((transaction) => changeSpans(transaction, [{ kind: 'close', instance, now }]))

const readSealedThrough = async (organizationId: number) =>
  (
    await server.application.db
      .selectFrom('usage_cursors')
      .select('sealed_through')
      .where('organization_id', '=', organizationId)
      .executeTakeFirstOrThrow()
  ).sealed_through

async function readSpan({ deploymentId: id }: Deployment) {
  const { started_at: from, ended_at: to } = await server.application.db
    .selectFrom('instance_spans')
    .select(['started_at', 'ended_at'])
    .where('deployment_id', '=', id)
    .executeTakeFirstOrThrow()
  return { from, to }
}

async function listAnomalies() {
  await checkLedger(server.application)
  const rows = await server.application.db
    .selectFrom('usage_anomalies')
    .select('message')
    .where('closed_at', 'is', null)
    .execute()
  return rows.map(({ message }) => message)
}

test('a clock that steps a month ahead for 20 minutes seals no future hour and bills what was used', async () => {
  const { organizationId, deployment } = await deploy()
  await openSpan(deployment)
  const startedAt = now
  await settleFor(10)
  pass(30 * day)
  await settleFor(20)
  expect((await readSealedThrough(organizationId)).getTime()).toBeLessThanOrEqual(startedAt.getTime() + hour)
  pass(-30 * day)
  await settleFor(10)
  await closeSpan(deployment)
  expect(await readSpan(deployment)).toEqual({ from: startedAt, to: now })
  pass(3 * hour)
  await settleFor(1)
  expect(await readSealedThrough(organizationId)).toEqual(floorHour(new Date(now.getTime() - hour / 4)))
  const { total } = await server.application.db
    .selectFrom('usage_buckets')
    .select(({ fn }) => fn.sum<string>('quantity').as('total'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  expect(Number(total)).toBe((40 * minute) / 1000)
  expect(await listAnomalies()).toEqual([])
})

test('after a pause of days that was real, hours are sealed once the time was observed for an hour', async () => {
  const { organizationId, deployment } = await deploy()
  await openSpan(deployment)
  await settleFor(1)
  pass(3 * day)
  await settleFor(30)
  expect((await readSealedThrough(organizationId)).getTime()).toBeLessThan(now.getTime() - 2 * day)
  await settleFor(35)
  expect((await readSealedThrough(organizationId)).getTime()).toBeGreaterThan(now.getTime() - 2 * hour)
  await closeSpan(deployment)
})

test('an instance that started while the clock was ahead is metered from the step back on, and has no negative time', async () => {
  await settleFor(1)
  pass(30 * day)
  const { deployment } = await deploy()
  await openSpan(deployment)
  pass(-30 * day)
  await settleFor(5)
  await closeSpan(deployment)
  const { from, to } = await readSpan(deployment)
  expect(to!.getTime() - from.getTime()).toBe(4 * minute)
  for (const message of await listAnomalies()) expect(message).not.toMatch(/ -\d/)
})
