import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startEmbeddedDatabase } from '../../src/database/embedded.ts'
import type { ConfigChanges } from '../support/change-config.ts'
import { registerClient } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { findPostmaster, signal } from '../support/process.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import type { ScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'

/** Signals PostgreSQL's main process and all its children. */
async function signalPostgres(folder: string, name: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  const postmaster = (await findPostmaster(folder))!
  signal(postmaster, name)
  const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
  for (const child of children.trim().split(' ')) signal(Number(child), name)
}

/** Starts a PostgreSQL that a test can freeze, and a server on it. */
async function startOnOwnPostgres(config: ConfigChanges, runtime?: ScriptedRuntime) {
  const folder = await mkdtemp(join(tmpdir(), 'berth-frozen-'))
  // PostgreSQL runs under another account, and otherwise in another folder.
  await chmod(folder, 0o755)
  const postgres = await startEmbeddedDatabase({ dataDirectory: folder, log: () => {} })
  const server = await startTestServer({ runtime, settings: { DATABASE_URL: postgres.url }, config })
  // Also after a timeout, so that no frozen process stays behind
  onTestFinished(() => signalPostgres(folder, 'SIGCONT').catch(() => undefined))
  return {
    server,
    freeze: () => signalPostgres(folder, 'SIGSTOP'),
    thaw: () => signalPostgres(folder, 'SIGCONT'),
    async close() {
      await server.close()
      await postgres.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

test('while PostgreSQL is frozen every request ends with a 503 database_unavailable, and the server recovers afterwards', async () => {
  const setting = await startOnOwnPostgres({ databaseTimeoutMilliseconds: 1_000, databasePoolSize: 4 })
  const { server } = setting
  try {
    const client = await registerClient(server.url)
    const { email, password } = client
    const requests = [
      () => client.get('/v1/organization'),
      () => client.get('/v1/models'),
      () => client.get('/healthz'),
      () => client.get('/readyz?database=required'),
      () => client.post('/v1/user/signin', { email, password }),
      () => client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' }),
      () => client.request('PATCH', '/v1/organization', '{"name":"New"}'),
      () => client.post('/v1/chat/completions', { model: 'berth-tiny', messages: [] }),
    ]
    await Promise.all(requests.slice(0, 4).map((request) => request()))
    await setting.freeze()
    try {
      // The first requests find open connections, the others none.
      for (const _attempt of ['open', 'none']) {
        for (const { status, headers, body } of await Promise.all(requests.map((request) => request()))) {
          expect([status, (body.error ?? body).code]).toEqual([503, 'database_unavailable'])
          expect(headers.get('retry-after')).toBe('5')
        }
      }
    } finally {
      await setting.thaw()
    }
    await expect.poll(async () => (await client.get('/readyz')).body).toEqual({ status: 'ok' })
    await expect.poll(() => server.application.notifications.isCurrent()).toBe(true)
    expect((await client.get('/v1/organization')).status).toBe(200)
    expect((await client.post('/v1/user/signin', { email, password })).status).toBe(200)
    expect(server.application.lost.aborted).toBe(false)
  } finally {
    await setting.close()
  }
}, 240_000)

test('while PostgreSQL is frozen, chats of cached sessions and health checks do not wait for its timeout', async () => {
  const engine = await startRecordingEngine()
  engine.answer((response) => answerJson(response, '{"choices":[]}'))
  // A query waits longer than this test.
  const setting = await startOnOwnPostgres(
    { databaseTimeoutMilliseconds: 600_000 },
    createScriptedRuntime(engine.url),
  )
  try {
    const client = await registerClient(setting.server.url)
    const { id: model } = await deploy(client)
    const chat = async () => (await client.post('/v1/chat/completions', { model, messages: [] })).status
    expect(await chat()).toBe(200)
    await setting.freeze()
    try {
      // More callers than the database has connections, both before and after the listener notices
      for (let round = 0; round < 20; round++) {
        expect(await Promise.all(Array.from({ length: 30 }, chat))).toEqual(Array(30).fill(200))
      }
      await expect.poll(() => setting.server.application.notifications.isCurrent()).toBe(false)
      for (let round = 0; round < 20; round++) {
        expect(await Promise.all(Array.from({ length: 30 }, chat))).toEqual(Array(30).fill(200))
      }
      expect(await client.get('/readyz')).toMatchObject({ status: 200, body: { status: 'degraded' } })
      expect((await client.get('/healthz')).status).toBe(503)
    } finally {
      await setting.thaw()
    }
    await expect.poll(async () => (await client.get('/readyz')).body).toEqual({ status: 'ok' })
    expect(await chat()).toBe(200)
  } finally {
    await setting.close()
    await engine.close()
  }
}, 120_000)
