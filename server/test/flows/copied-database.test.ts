import { randomBytes, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, inject, onTestFinished, test } from 'vitest'
import { adminSettings, runAdmin } from '../support/admin.ts'
import { administer, endSessionsOf } from '../support/administer-database.ts'
import { createClient, registerClient } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import type { ScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const SECRET_KEY = 'a secret of the original and its copies'
const path = '/api/v1/model-deployments'

/** Copies a database with one running deployment, which no server uses anymore. */
async function copyDatabase() {
  const original = await createTestDatabase('migrated')
  const server = await startTestServer({
    runtime: createScriptedRuntime(),
    settings: { DATABASE_URL: original.url, SECRET_KEY },
  })
  const { email, password, ...owner } = await registerClient(server.url)
  const { id, instances } = await deploy(owner)
  expect((await owner.get('/v1/installation')).body.is_copy).toBe(false)
  const { application } = server
  await application.db
    .updateTable('billing_accounts')
    .set({ processor_customer_id: 'cus_original' })
    .execute()
  // The state before the original stops
  const name = `test_${randomBytes(8).toString('hex')}`
  const { pathname } = new URL(original.url)
  await application.db.insertInto('mails').values(pendingMail).execute()
  await administer(
    inject('postgresUrl'),
    endSessionsOf(pathname.slice(1)),
    `CREATE DATABASE ${name} TEMPLATE ${pathname.slice(1)}`,
  )
  await server.close()
  await original.drop()
  const url = new URL(original.url)
  url.pathname = `/${name}`
  onTestFinished(() => administer(inject('postgresUrl'), endSessionsOf(name), `DROP DATABASE ${name}`))
  return { url: url.href, email, password, id, engine: instances[0]!.id }
}

const pendingMail = {
  kind: 'password_changed' as const,
  subject_id: 1,
  recipient: 'somebody@example.com',
  message_id: '<copied@example.com>',
  created_at: new Date(),
  attempt_at: sql<Date>`now() + interval '1 hour'`,
}

/** Starts a server on a copy, with a worker. */
async function startOn(copy: Awaited<ReturnType<typeof copyDatabase>>, runtime: ScriptedRuntime) {
  const server = await startTestServer({ runtime, settings: { DATABASE_URL: copy.url, SECRET_KEY } })
  onTestFinished(() => server.close())
  const owner = createClient(server.url)
  await owner.post('/v1/user/signin', { email: copy.email, password: copy.password })
  return { server, owner, settings: { ...adminSettings(server), SECRET_KEY } }
}

/** What the audit log has about the copy, by the operator. */
async function listDecisions({ application }: TestServer): Promise<string[]> {
  const rows = await application.db
    .selectFrom('audit_log')
    .select('action')
    .where('action', 'in', ['installation.taken_over', 'installation.forked'])
    .where('user_agent', '=', 'npm run admin')
    .execute()
  return rows.map(({ action }) => action)
}

test('in a copied database the worker touches nothing, until the copy takes over', async () => {
  const copy = await copyDatabase()
  const runtime = createScriptedRuntime()
  // An engine that the original started after the copy
  const stray = randomUUID()
  runtime.allocated.add(stray)
  const { server, owner, settings } = await startOn(copy, runtime)
  expect((await owner.get('/v1/installation')).body.is_copy).toBe(true)
  expect(server.logs.some((line) => line.includes('this database is a copy'))).toBe(true)
  const { id } = (await owner.post(path, { model_name: 'berth-tiny' })).body
  expect((await runAdmin(settings, ['doctor'])).stdout).toMatch(/FIX {2}database: .*copy/)
  expect([...runtime.callsFor(id), ...runtime.callsFor(copy.id)]).toEqual([])
  expect(runtime.allocated.has(stray)).toBe(true)

  const taken = await runAdmin(settings, ['installation', 'take-over'])
  expect(taken).toMatchObject({ code: 0, stdout: expect.stringContaining('Taken over') })
  expect(await listDecisions(server)).toEqual(['installation.taken_over'])
  await waitForStatus(owner, id, 'running')
  await expect.poll(() => runtime.allocated.has(stray)).toBe(false)
  expect((await owner.get('/v1/installation')).body.is_copy).toBe(false)
  expect(await runAdmin(settings, ['installation', 'fork'])).toMatchObject({ code: 1 })
})

test('a fork keeps people and deployments, which sleep, and forgets engines, emails and customers', async () => {
  const copy = await copyDatabase()
  const runtime = createScriptedRuntime()
  const { server, owner, settings } = await startOn(copy, runtime)
  const { db } = server.application
  expect(await runAdmin(settings, ['installation', 'fork'])).toMatchObject({ code: 0 })
  expect(await listDecisions(server)).toEqual(['installation.forked'])
  const forked = (await owner.get(`${path}/${copy.id}`)).body
  expect(forked).toMatchObject({ status: 'sleeping', instances: [] })
  expect(runtime.callsFor(copy.id)).toEqual([])
  const mail = db.selectFrom('mails').select('status').where('message_id', '=', pendingMail.message_id)
  expect(await mail.executeTakeFirst()).toEqual({ status: 'superseded' })
  const account = db.selectFrom('billing_accounts').select('processor_customer_id')
  expect(await account.execute()).toEqual([{ processor_customer_id: null }])
  const spans = db.selectFrom('instance_spans').select('id').where('ended_at', 'is', null)
  expect(await spans.execute()).toEqual([])
  expect((await owner.get('/v1/installation')).body.is_copy).toBe(false)
  expect((await owner.post(`${path}/${copy.id}/wake`)).status).toBe(200)
  await waitForStatus(owner, copy.id, 'running')
})
