import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { orphanCheck } from '../../src/features/deployments/fleet/orphan-check.ts'
import { checkLedger, checkUsage } from '../../src/features/metering/checks.ts'
import { summarizeUsage } from '../../src/features/metering/summary.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { settleTrusted } from '../support/settle.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const path = '/api/v1/model-deployments'
let now = new Date('2026-03-01T10:00:00Z')
const runtime = createScriptedRuntime(undefined, () => now)
let server: TestServer
let client: Client
let organizationId: number
let id: string

beforeAll(async () => {
  server = await startTestServer({ runtime, clock: () => now, settings: { BILLING_TRIAL_CREDIT: '1000' } })
  client = await registerClient(server.url)
  organizationId = (await client.get('/v1/organization')).body.id
  id = (await deploy(client)).id
})
afterAll(() => server?.close())

/** Runs all checks and returns the open anomalies; also verifies the count in the usage summary. */
async function runChecks() {
  const { application } = server
  await checkUsage(application, [orphanCheck(application)])
  await checkLedger(application)
  const rows = await application.db
    .selectFrom('usage_anomalies')
    .select(['kind', 'subject', 'organization_id', 'message'])
    .where('closed_at', 'is', null)
    .orderBy('kind')
    .execute()
  const { openAnomalies } = await summarizeUsage(application, organizationId, {
    start: now,
    end: new Date(now.getTime() + 1),
    chargedSince: null,
  })
  expect(openAnomalies).toBe(rows.filter((row) => row.organization_id === organizationId).length)
  return rows
}

const run = (statement: ReturnType<typeof sql>) => statement.execute(server.application.db)
const kinds = async () => (await runChecks()).map(({ kind }) => kind)

test('a running deployment causes no anomaly', async () => {
  now = new Date('2026-03-01T13:30:00Z')
  await settleTrusted(server.application)
  expect(await runChecks()).toEqual([])
})

test('an orphaned instance is an anomaly without an organization until it is released', async () => {
  const stranger = randomUUID()
  runtime.allocated.add(stranger)
  // Keep the orphan sweep from releasing it first.
  runtime.answer({ release: () => false })
  expect(await runChecks()).toEqual([
    {
      kind: 'instance_without_deployment',
      subject: stranger,
      organization_id: null,
      message: `The runtime holds an instance for ${stranger}, but no deployment owns it.`,
    },
  ])
  runtime.allocated.delete(stranger)
  runtime.reset()
  expect(await runChecks()).toEqual([])
})

test('missing_span: an instance without an open span is one anomaly, however often the checks run', async () => {
  const { rows } = await sql<{ id: number }>`
    UPDATE instance_spans SET ended_at = ${now}, reported_end_at = ${now} WHERE deployment_id = ${id} RETURNING id
  `.execute(server.application.db)
  const [instance] = (await client.get(`/api/v1/model-deployments/${id}`)).body.instances
  for (const _time of [1, 2, 3]) {
    const found = (await runChecks()).map(({ kind, subject }) => [kind, subject])
    expect(found).toEqual([['missing_span', instance.id]])
  }
  await run(sql`UPDATE instance_spans SET ended_at = NULL, reported_end_at = NULL WHERE id = ${rows[0]!.id}`)
  expect(await runChecks()).toEqual([])
  const all = await server.application.db
    .selectFrom('usage_anomalies')
    .selectAll()
    .where('subject', '=', instance.id)
    .execute()
  expect(all).toHaveLength(1)
  expect(all[0]!.closed_at).not.toBeNull()
})

test('unclosed_span: a span is open after the release of its instance', async () => {
  await run(sql`UPDATE instances SET lost_at = ${now} WHERE deployment_id = ${id}`)
  expect(await kinds()).toEqual(['unclosed_span'])
  await run(sql`UPDATE instances SET lost_at = NULL WHERE deployment_id = ${id}`)
  expect(await runChecks()).toEqual([])
})

test('overlapping_spans: two spans of a deployment overlap; the sealed hours become unbalanced', async () => {
  const end = new Date('2026-03-01T12:00:00Z')
  await run(sql`
    INSERT INTO instance_spans (organization_id, deployment_id, engine_id, instance_type, region, started_at, ended_at, confirmed_at,
      reported_start_at, reported_end_at)
    SELECT organization_id, deployment_id, engine_id, instance_type, region, started_at, ${end}, confirmed_at, started_at, ${end}
    FROM instance_spans WHERE deployment_id = ${id}`)
  expect(await kinds()).toEqual(['overlapping_spans', 'unbalanced_ledger'])
  await run(sql`DELETE FROM instance_spans WHERE deployment_id = ${id} AND ended_at IS NOT NULL`)
  expect(await runChecks()).toEqual([])
})

test('checkLedger checks every organization; checkUsage finds none of its kinds', async () => {
  const other = await registerClient(server.url)
  const body = await deploy(other)
  const long = new Date('2026-03-01T01:00:00Z')
  const setReportedStart = (reported: ReturnType<typeof sql>) =>
    run(sql`UPDATE instance_spans SET reported_start_at = ${reported}`)
  await setReportedStart(sql`${long}`)
  await checkUsage(server.application)
  expect(
    (await server.application.db.selectFrom('usage_anomalies').where('closed_at', 'is', null).execute())
      .length,
  ).toBe(0)
  const seen = await runChecks()
  expect(seen.map(({ kind }) => kind)).toEqual([
    'impossible_span',
    'impossible_span',
    'provider_disagrees',
    'provider_disagrees',
  ])
  expect(new Set(seen.map((row) => row.organization_id)).size).toBe(2)
  await setReportedStart(sql`started_at`)
  await other.delete(`${path}/${body.id}`)
  await waitForStatus(other, body.id, 'terminated')
  expect(await runChecks()).toEqual([])
})

test('impossible_span: a start in the future, before the request, or different from the provider’s', async () => {
  const start = new Date('2026-03-01T10:00:00Z')
  const move = (started: Date, reported: Date) =>
    run(
      sql`UPDATE instance_spans SET started_at = ${started}, reported_start_at = ${reported} WHERE deployment_id = ${id}`,
    )
  const later = new Date('2026-03-01T18:00:00Z')
  await move(later, later)
  expect(await kinds()).toContain('impossible_span')
  const earlier = new Date('2026-02-28T10:00:00Z')
  await move(earlier, earlier)
  expect(await kinds()).toContain('impossible_span')
  await move(start, new Date('2026-03-01T09:00:00Z'))
  expect(await kinds()).toEqual(['impossible_span', 'provider_disagrees'])
  await move(start, start)
  expect(await runChecks()).toEqual([])
})

test('a clock steps back: the span ends at the watermark, with an anomaly', async () => {
  const { id: other } = await deploy(client)
  const started = now
  now = new Date(started.getTime() + 4 * 3_600_000)
  await settleTrusted(server.application)
  now = new Date(started.getTime() + 60_000)
  await client.delete(`${path}/${other}`)
  await waitForStatus(client, other, 'terminated')
  const span = await server.application.db
    .selectFrom('instance_spans')
    .select(['ended_at', 'reported_end_at'])
    .where('deployment_id', '=', other)
    .executeTakeFirstOrThrow()
  expect(span).toEqual({ ended_at: new Date('2026-03-01T17:00:00Z'), reported_end_at: now })
  now = new Date(started.getTime() + 5 * 3_600_000)
  await settleTrusted(server.application)
  const seen = await runChecks()
  expect(seen.map(({ kind }) => kind)).toEqual(['impossible_span', 'provider_disagrees'])
  expect(seen[0]!.message).toMatch(/ending in hours that were already sealed/)
  now = new Date('2026-04-20T00:00:00Z')
  await settleTrusted(server.application)
  expect(await runChecks()).toEqual([])
})

test('usage without a price stays unsealed until it has one', async () => {
  const withoutPrices = { ...server.application, prices: [] }
  now = new Date('2026-04-20T03:00:00Z')
  await settleTrusted(withoutPrices)
  expect(await kinds()).toEqual(['missing_price'])
  now = new Date('2026-04-22T03:00:00Z')
  await settleTrusted(withoutPrices)
  expect(await kinds()).toEqual(['missing_price', 'unsettled_usage'])
  await settleTrusted(server.application)
  expect(await runChecks()).toEqual([])
})

test('a failing check changes nothing, and the other checks still run', async () => {
  const broken = {
    ...server.application,
    runtime: { ...runtime, listEngineIds: () => Promise.reject(new Error('gone')) },
  }
  const checks = [
    orphanCheck(broken),
    {
      kind: 'unsent_usage',
      find: async () => [{ organizationId, subject: 'hour', message: 'The report failed.' }],
    },
  ]
  await checkUsage(broken, checks)
  await expect(
    sql`SELECT 1 FROM usage_anomalies WHERE kind = 'unsent_usage' AND closed_at IS NULL`.execute(
      server.application.db,
    ),
  ).resolves.toMatchObject({ rows: [{}] })
  await checkUsage(server.application, [{ kind: 'unsent_usage', find: async () => [] }])
  expect(await runChecks()).toEqual([])
})
