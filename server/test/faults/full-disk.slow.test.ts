import { execFileSync } from 'node:child_process'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Answer } from '../support/client.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
let client: Awaited<ReturnType<typeof registerClient>>
beforeAll(async () => {
  server = await startTestServer({ worker: false, runtime: createScriptedRuntime() })
  client = await registerClient(server.url)
  await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
})
afterAll(() => server.close())

const degraded = { status: 200, body: { status: 'degraded', storage: 'full' } }

function expectFull(answer: Answer): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(503)
  expect(answer.headers.get('retry-after')).toBe('60')
  expect((answer.body.error ?? answer.body).code).toBe('storage_full')
}

test('a full disk of PostgreSQL is a 503 storage_full on every route, degrades /readyz and is named in the log', async () => {
  const { db } = server.application
  expect((await client.get('/readyz')).status).toBe(200)
  // PostgreSQL itself raises the error that it raises when its disk is full.
  await sql`
    CREATE FUNCTION fail_full() RETURNS boolean LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$`.execute(db)
  await sql`ALTER TABLE deployments RENAME TO full_deployments`.execute(db)
  await sql`CREATE VIEW deployments AS SELECT * FROM full_deployments WHERE fail_full()`.execute(db)
  try {
    const problem = await client.get('/api/v1/model-deployments')
    expectFull(problem)
    expect(problem.headers.get('content-type')).toContain('application/json')
    const chat = await client.post('/v1/chat/completions', { model: 'berth-tiny', messages: [] })
    expectFull(chat)
    expect(chat.body.error.type).toBe('server_error')
    expect(await client.get('/readyz')).toMatchObject(degraded)
    expectFull(await client.get('/readyz?database=required'))
    expect((await client.get('/healthz')).status).toBe(200)
    expect(server.logs.some((line) => line.includes('PostgreSQL’s disk is full'))).toBe(true)
  } finally {
    await sql`DROP VIEW deployments`.execute(db)
    await sql`ALTER TABLE full_deployments RENAME TO deployments`.execute(db)
  }
  expect((await client.get('/api/v1/model-deployments')).status).toBe(200)
  await vi.waitFor(async () => expect((await client.get('/readyz')).body).toEqual({ status: 'ok' }), {
    timeout: 30_000,
  })
})

/** Mounts a small filesystem; false without the privilege. */
function mount(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test('a full disk of DATA_DIR degrades /readyz until it has space again, and is named in the log', async ({
  skip,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-disk-'))
  if (!mount(folder)) {
    await rm(folder, { recursive: true })
    skip('only root can mount a small filesystem')
  }
  try {
    const own = await startTestServer({
      worker: false,
      runtime: createScriptedRuntime(),
      settings: { DATA_DIR: folder },
    })
    try {
      const person = await registerClient(own.url)
      expect((await person.get('/readyz')).status).toBe(200)
      const { bavail, bsize } = statfsSync(folder)
      writeFileSync(join(folder, 'ballast'), Buffer.alloc(bavail * bsize))
      expect(await person.get('/readyz')).toMatchObject(degraded)
      expectFull(await person.get('/readyz?database=required'))
      expect(own.logs.some((line) => line.includes(folder) && line.includes('is full'))).toBe(true)
      expect((await person.get('/v1/organization')).status).toBe(200)
      rmSync(join(folder, 'ballast'))
      expect((await person.get('/readyz')).body).toEqual({ status: 'ok' })
    } finally {
      await own.close()
    }
  } finally {
    execFileSync('umount', [folder])
    await rm(folder, { recursive: true })
  }
})
