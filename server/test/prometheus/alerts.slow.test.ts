// Each alert of deploy/prometheus/alerts.yaml fires in a real Prometheus, when a server is in the state that
// it warns of. The rules are those of the file, without their delays.
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { startWorker } from '../../src/process/worker.ts'
import { createClient, registerClient } from '../support/client.ts'
import { startGate } from '../support/database-gate.ts'
import { deploy } from '../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import { hasPrometheus, startPrometheus } from './prometheus.ts'

const alertsFile = resolve(import.meta.dirname, '../../../deploy/prometheus/alerts.yaml')
const gibibyte = 2 ** 30

/** Writes the rules to a new file, to fire at once and to forget after a minute. */
async function writeImpatientRules(
  cleanup: AsyncDisposableStack,
): Promise<{ file: string; names: string[] }> {
  const rules = parse(readFileSync(alertsFile, 'utf8'))
  const all: any[] = rules.groups.flatMap((group: any) => group.rules)
  for (const rule of all) {
    delete rule.for
    rule.expr = rule.expr.replaceAll(/\[\d+m\]/g, '[1m]')
  }
  const folder = await mkdtemp(join(tmpdir(), 'berth-alerts-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'alerts.json')
  await writeFile(file, JSON.stringify(rules))
  return { file, names: all.map(({ alert }) => alert) }
}

/** A server whose engine breaks chats, and answers embeddings after half a minute. */
async function startServerOfBadEngine(cleanup: AsyncDisposableStack) {
  const engine = await startRecordingEngine()
  cleanup.defer(() => engine.close())
  const server = await startTestServer({ runtime: createScriptedRuntime(engine.url) })
  cleanup.defer(() => server.close())
  const client = await registerClient(server.url)
  await deploy(client, 'berth-tiny')
  await deploy(client, 'berth-tiny-embedding')
  let isSlow = false
  const timers = new Set<NodeJS.Timeout>()
  cleanup.defer(() => timers.forEach(clearTimeout))
  engine.answer((response, { path }) => {
    if (!path.endsWith('/embeddings')) return void response.destroy()
    const answer = () =>
      answerJson(response, '{"data":[{"index":0,"embedding":[1]}],"usage":{"prompt_tokens":1}}')
    if (isSlow) timers.add(setTimeout(answer, 31_000))
    else answer()
  })
  const embed = async () => {
    const body = { model: 'berth-tiny-embedding', input: 'Hi' }
    const answer = await client.post('/v1/embeddings', body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  }
  const chat = () =>
    client.post('/v1/chat/completions', { model: 'berth-tiny', messages: [{ role: 'user', content: 'Hi' }] })
  return { server, client, embed, chat, slowDown: () => (isSlow = true) }
}

/** A server without a worker, with a wrong clock and full hardware, and with old work and a lost table. */
async function startNeglectedServer(cleanup: AsyncDisposableStack) {
  const clock = () => new Date(Date.now() + 10_000)
  const server = await startTestServer({ worker: false, clock })
  cleanup.defer(() => server.close())
  const gate = await startGate(server.databaseUrl)
  cleanup.defer(() => gate.close())
  // The worker makes the queues.
  await (await startWorker(server.application)).stop()
  await server.restart({ DATABASE_URL: gate.url })
  const client = await registerClient(server.url)
  expect((await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })).status).toBe(201)
  const { db, runtimes } = server.application
  await sql`UPDATE deployments SET reconcile_at = now() - interval '5 minutes'`.execute(db)
  await sql`DELETE FROM pgboss.job WHERE name = 'settle-usage'`.execute(db)
  await sql`INSERT INTO pgboss.job (name, state, start_after, completed_on) VALUES
    ('settle-usage', 'created', now() - interval '1 hour', NULL),
    ('settle-usage', 'failed', now(), now()),
    ('settle-usage', 'completed', now(), now() - interval '1 hour')`.execute(db)
  await sql`INSERT INTO usage_anomalies (kind, subject, message, opened_at, seen_at)
    VALUES ('test', 'test', 'test', now(), now())`.execute(db)
  await sql`INSERT INTO usage_reports (organization_id, price_key, hour, identifier, customer_id, quantity, at,
      status, first_attempt_at, last_attempt_at)
    SELECT id, 'test', date_trunc('hour', now()) - interval '3 hours', 'test', 'test', 1, now(),
      'pending', now(), now() FROM organizations LIMIT 1`.execute(db)
  await sql`ALTER TABLE invitations RENAME TO lost_invitations`.execute(db)
  runtimes.weightCache!.measure = async () => ({ bytes: 95, limitBytes: 100 })
  runtimes.hostEngines!.measureGpus = async () => [
    {
      id: 'GPU-5c2d8f1a',
      name: 'NVIDIA L4',
      totalBytes: 24 * gibibyte,
      othersBytes: 5 * gibibyte,
      utilization: 0,
      engines: [],
    },
  ]
  return { server, client, gate }
}

describe.skipIf(!hasPrometheus())('with Prometheus, which this machine needs to have', () => {
  test('every alert fires when a server is in its state', { timeout: 300_000 }, async () => {
    await using cleanup = new AsyncDisposableStack()
    const rules = await writeImpatientRules(cleanup)
    const broken = await startServerOfBadEngine(cleanup)
    const neglected = await startNeglectedServer(cleanup)
    const [brokenLine, neglectedLine] = [
      await startGate(broken.server.url),
      await startGate(neglected.server.url),
    ]
    cleanup.defer(() => brokenLine.close())
    cleanup.defer(() => neglectedLine.close())
    const hosts = { broken: new URL(brokenLine.url).host, neglected: new URL(neglectedLine.url).host }
    const url = await startPrometheus(hosts, rules.file, cleanup)
    const ask = async (path: string): Promise<any> => {
      const { data } = (await (await fetch(`${url}/api/v1/${path}`)).json()) as any
      return data
    }
    const fired = new Set<string>()
    const look = async () => {
      for (const { labels } of (await ask('alerts')).alerts) fired.add(labels.alertname)
      return fired
    }
    // Of a series that Prometheus has never seen, the first value is no increase.
    await broken.embed()
    const seen = 'berth_inference_first_byte_seconds_count{model="berth-tiny-embedding"}'
    await expect
      .poll(async () => (await ask(`query?query=${encodeURIComponent(seen)}`)).result.length, {
        timeout: 30_000,
      })
      .toBe(1)
    expect(fired).not.toContain('BerthFirstTokenSlow')
    broken.slowDown()
    const slow = broken.embed()

    const later = ['BerthDatabaseUnreachable', 'BerthDown']
    const stranger = createClient(neglected.server.url)
    await expect
      .poll(
        async () => {
          await broken.chat()
          expect((await neglected.client.get('/v1/organization/invitations')).status).toBe(500)
          await stranger.post('/v1/user/signin', { email: 'nobody@example.com', password: 'wrong password' })
          // Blocks the event loop.
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
          await look()
          return rules.names.filter((name) => !later.includes(name) && !fired.has(name))
        },
        { timeout: 120_000, interval: 100 },
      )
      .toEqual([])
    await slow

    // The blocked event loop may have delayed a scrape, which is not what the next two are about.
    await expect
      .poll(async () => (await ask('alerts')).alerts.map(({ labels }: any) => labels.alertname))
      .not.toContain('BerthDown')
    for (const name of later) fired.delete(name)

    await neglected.gate.shut()
    await expect.poll(look, { timeout: 60_000 }).toContain('BerthDatabaseUnreachable')
    expect(fired).not.toContain('BerthDown')
    await neglected.gate.open()
    await brokenLine.shut()
    await neglectedLine.shut()
    await expect.poll(look, { timeout: 60_000 }).toContain('BerthDown')
  })
})
