import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { deleteExpiredActions } from '../../../../src/features/audit/store.ts'
import type { Client } from '../../../support/client.ts'
import { createClient } from '../../../support/client.ts'
import { createCast, invite } from '../../../support/organizations.ts'
import type { Account } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const route = '/v1/organization/audit-log'

let server: TestServer
let cast: Record<'viewer' | 'member' | 'admin' | 'superAdmin' | 'stranger', Account>
beforeAll(async () => {
  server = await startTestServer()
  cast = await createCast(server)
})
afterAll(() => server.close())

async function list(client: Client, query = ''): Promise<any[]> {
  const { status, body } = await client.get(`${route}${query}`)
  expect(status).toBe(200)
  return body.items
}

function exportCsv(client: Client, query = '') {
  return client.request<string>('GET', `${route}${query}`, undefined, { accept: 'text/csv' })
}

test('GET /v1/organization/audit-log: who did what, to what, from where, newest first', async () => {
  const { invitation } = await invite(server, cast.admin, { email: 'ada@example.com', role: 'viewer' })
  const [newest] = await list(cast.superAdmin)
  expect(newest).toEqual({
    id: expect.any(Number),
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    actor: { user_id: expect.any(Number), email: cast.admin.email },
    action: 'invitation.created',
    target: { type: 'invitation', id: String(invitation.id), name: 'ada@example.com' },
    address: '127.0.0.1',
    user_agent: expect.any(String),
    result: 'succeeded',
    details: { role: 'viewer' },
  })
})

test('GET /v1/organization/audit-log: pages and filters by action, actor and time', async () => {
  const all = await list(cast.superAdmin, '?limit=500')
  const page = (await cast.superAdmin.get(`${route}?limit=2&offset=1`)).body
  expect(page).toMatchObject({ total: all.length, limit: 2, offset: 1, items: all.slice(1, 3) })
  const joined = await list(cast.superAdmin, '?action=invitation.accepted')
  expect(joined).toHaveLength(3)
  const { actor } = joined[0]
  const own = await list(cast.superAdmin, `?actor_user_id=${actor.user_id}`)
  expect(own.length).toBeGreaterThan(0)
  for (const item of own) expect(item.actor).toEqual(actor)
  const { at } = all[3]
  expect(await list(cast.superAdmin, `?limit=500&from=${at}`)).toEqual(all.filter((item) => item.at >= at))
  expect(await list(cast.superAdmin, `?limit=500&to=${at}`)).toEqual(all.filter((item) => item.at < at))
  expect((await cast.superAdmin.get(`${route}?from=yesterday`)).status).toBe(422)
})

test('GET /v1/organization/audit-log: admins see only their own organization', async () => {
  await invite(server, cast.stranger, { email: 'grace@example.com' })
  const items = await list(cast.stranger)
  expect(items.map(({ action }) => action)).toEqual([
    'invitation.created',
    'session.started',
    'user.registered',
  ])
  expect(JSON.stringify(await list(cast.superAdmin, '?limit=500'))).not.toContain('grace@example.com')
  expect((await cast.member.get(route)).status).toBe(403)
})

test('GET /v1/organization/audit-log: a refused sign-in names the account, not the caller', async () => {
  const visitor = createClient(server.url)
  const wrong = { email: cast.member.email.toUpperCase(), password: 'not the password' }
  expect((await visitor.post('/v1/user/signin', wrong)).status).toBe(401)
  const [newest] = await list(cast.superAdmin)
  expect(newest).toMatchObject({
    actor: null,
    action: 'session.sign_in_refused',
    target: { type: 'user', name: cast.member.email },
    result: 'refused',
  })
})

test('an unknown email of a refused sign-in is not kept: it may be a password', async () => {
  await createClient(server.url).post('/v1/user/signin', {
    email: 'hunter2@typo',
    password: 'not the password',
  })
  const { rows } = await sql<{ row: string }>`SELECT audit_log::text AS row FROM audit_log`.execute(
    server.application.db,
  )
  expect(rows.at(-1)!.row).toContain('sign_in_refused')
  expect(JSON.stringify(rows)).not.toMatch(/hunter2|not the password/)
})

test('a change that the role does not allow is recorded, at most three times a minute, however many others are', async () => {
  for (let count = 0; count < 12; count += 1) {
    expect((await cast.viewer.patch('/v1/organization', { name: 'Mine' })).status).toBe(403)
  }
  const refused = await list(cast.superAdmin, '?action=permission.refused')
  expect(refused).toHaveLength(3)
  expect((await cast.viewer.get(route)).status).toBe(403)
  expect((await cast.viewer.post('/v1/organization/invitations', { email: 'a@example.com' })).status).toBe(
    403,
  )
  const [last] = await list(cast.superAdmin, '?action=permission.refused')
  expect(last.target.id).toBe('POST /v1/organization/invitations')
  expect(refused[0]).toMatchObject({
    actor: { email: cast.viewer.email },
    target: { type: 'route', id: 'PATCH /v1/organization' },
    result: 'refused',
  })
})

test('Accept: text/csv exports every matching row, without formulas', async () => {
  await cast.superAdmin.patch('/v1/organization', { name: '=HYPERLINK("https://evil.example","click")' })
  const { status, headers, body } = await exportCsv(cast.superAdmin, '?limit=1')
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(headers.get('content-disposition')).toBe('attachment; filename="audit-log.csv"')
  const lines = body.trimEnd().split('\r\n')
  expect(lines[0]).toBe(
    'id,at,actor_user_id,actor_email,action,target_type,target_id,target_name,address,user_agent,result,details',
  )
  expect(lines).toHaveLength(1 + (await cast.superAdmin.get(route)).body.total)
  expect(lines[1]).toContain(`,"'=HYPERLINK(""https://evil.example"",""click"")",`)
  expect(lines[1]).not.toContain(',"=')
})

test('the CSV export reads more rows than one batch holds', async () => {
  const { id } = (await cast.stranger.get('/v1/organization')).body
  await sql`INSERT INTO audit_log (organization_id, action, result, details)
    SELECT ${id}, 'organization.updated', 'succeeded', '{}' FROM generate_series(1, 2500)`.execute(
    server.application.db,
  )
  const { body } = await exportCsv(cast.stranger, '?action=organization.updated')
  const ids = body
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map((line) => Number(line.split(',')[0]))
  expect(ids).toEqual(ids.toSorted((a, b) => b - a))
  expect(new Set(ids).size).toBe(2500)
})

test('the database refuses to change or delete a row before its retention ends', async () => {
  const { db } = server.application
  await expect(sql`UPDATE audit_log SET result = 'refused'`.execute(db)).rejects.toThrow('append-only')
  await expect(sql`DELETE FROM audit_log`.execute(db)).rejects.toThrow('append-only')
  await expect(sql`TRUNCATE audit_log`.execute(db)).rejects.toThrow('append-only')
})

test('AUDIT_RETENTION: the job deletes older rows and no others', async () => {
  const { db, clock, config, jobs } = server.application
  expect(config.auditRetentionMilliseconds).toBe(400 * 24 * 3_600_000)
  await sql`INSERT INTO audit_log (at, action, result, details)
    SELECT now() - make_interval(days => days), 'user.updated', 'succeeded', '{"old": true}'
    FROM unnest(ARRAY[399, 401, 900]) AS days`.execute(db)
  const count = async () =>
    (await sql<{ count: number }>`SELECT count(*) FROM audit_log WHERE details ? 'old'`.execute(db)).rows[0]!
      .count
  const others = sql<{ count: number }>`SELECT count(*) FROM audit_log WHERE NOT details ? 'old'`
  const before = (await others.execute(db)).rows
  await jobs.enqueue(db, 'delete-expired-actions', null)
  await vi.waitFor(async () => expect(await count()).toBe(1), { timeout: 10_000 })
  expect((await others.execute(db)).rows).toEqual(before)
  await deleteExpiredActions(db, new Date(clock().getTime() - 398 * 24 * 3_600_000))
  expect(await count()).toBe(0)
})
