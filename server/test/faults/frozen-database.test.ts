import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startEmbeddedDatabase } from '../../src/database/embedded.ts'
import { registerClient } from '../support/client.ts'
import { findPostmaster, signal } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'

/** Signals PostgreSQL's main process and all its children. */
async function signalPostgres(folder: string, name: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  const postmaster = (await findPostmaster(folder))!
  signal(postmaster, name)
  const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
  for (const child of children.trim().split(' ')) signal(Number(child), name)
}

test('while PostgreSQL is frozen every request ends with a 503 database_unavailable, and the server recovers afterwards', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-frozen-'))
  // PostgreSQL runs under another account, and otherwise in another folder.
  await chmod(folder, 0o755)
  const postgres = await startEmbeddedDatabase({ dataDirectory: folder, log: () => {} })
  const server = await startTestServer({
    settings: { DATABASE_URL: postgres.url, DATABASE_TIMEOUT: '1', DATABASE_POOL_SIZE: '4' },
  })
  try {
    const client = await registerClient(server.url)
    const { email, password } = client
    const requests = [
      () => client.get('/v1/organization'),
      () => client.get('/v1/models'),
      () => client.get('/healthz'),
      () => client.get('/readyz'),
      () => client.post('/v1/user/signin', { email, password }),
      () => client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' }),
      () => client.request('PATCH', '/v1/organization', '{"name":"New"}'),
      () => client.post('/v1/chat/completions', { model: 'berth-tiny', messages: [] }),
    ]
    await Promise.all(requests.slice(0, 4).map((request) => request()))
    // Also after a timeout, so that no frozen process stays behind
    onTestFinished(() => signalPostgres(folder, 'SIGCONT').catch(() => undefined))
    await signalPostgres(folder, 'SIGSTOP')
    try {
      // The first requests find open connections, the others none.
      for (const _attempt of ['open', 'none']) {
        for (const { status, headers, body } of await Promise.all(requests.map((request) => request()))) {
          expect([status, (body.error ?? body).code]).toEqual([503, 'database_unavailable'])
          expect(headers.get('retry-after')).toBe('5')
        }
      }
    } finally {
      await signalPostgres(folder, 'SIGCONT')
    }
    await expect.poll(async () => (await client.get('/readyz')).status).toBe(200)
    await expect.poll(() => server.application.notifications.isCurrent()).toBe(true)
    expect((await client.get('/v1/organization')).status).toBe(200)
    expect((await client.post('/v1/user/signin', { email, password })).status).toBe(200)
    expect(server.application.lost.aborted).toBe(false)
  } finally {
    await server.close()
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
}, 240_000)
