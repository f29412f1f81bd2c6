import { sql } from 'kysely'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { notRecorded, operationTable, prepareRequest } from '../support/operation-table.ts'
import type { SsoServer } from '../support/oidc-provider.ts'
import { listOperations } from '../support/operations.ts'
import { openClient, readTenant, startTenants } from '../support/tenants.ts'
import type { Tenants } from '../support/tenants.ts'

/** The action that each operation records. */
const recorded = [...operationTable].flatMap(([operation, { audit }]) =>
  audit === null ? [] : [[operation, audit] as const],
)

/** Changes at the payment processor, which is outside the transaction. */
const changesProcessor = [
  'POST /v1/billing/subscription/activate-postpaid',
  'PATCH /v1/billing/subscription/collection-method',
  'PATCH /v1/billing/payment-methods/default',
  'DELETE /v1/billing/payment-methods/{payment_method_id}',
]

let server: SsoServer
let tenants: Tenants
beforeAll(async () => {
  const started = await startTenants()
  server = started.server
  tenants = started.tenants
  return () => started.close()
})

/** Prepares a request that succeeds, and the client that sends it. */
async function prepare(operation: string) {
  const actor = tenants.members.super_admin
  const request = await prepareRequest(operation, { server, tenants, actor, isOutsider: false })
  if (operation === 'DELETE /v1/auth/sessions') await openClient(server, actor)
  return request
}

async function readNewestId(): Promise<number> {
  const newest = server.application.db.selectFrom('audit_log').select(({ fn }) => fn.max('id').as('id'))
  return (await newest.executeTakeFirstOrThrow()).id ?? 0
}

test('every mutating operation records an action or says why not', async () => {
  const document = (await (await openClient(server, null)).get('/openapi.json')).body
  const mutating = listOperations(document)
    .filter(({ method }) => method !== 'GET')
    .map(({ method, path }) => `${method} ${path}`)
  expect([...recorded.map(([operation]) => operation), ...Object.keys(notRecorded)].toSorted()).toEqual(
    mutating.toSorted(),
  )
})

test.each(recorded)('%s records %s', async (operation, action) => {
  const { client, method, path, body, headers } = await prepare(operation)
  const before = await readNewestId()
  const answer = await client.request(method, path, body, { ...headers, 'user-agent': 'audit test' })
  expect(answer.status).toBeLessThan(300)
  await vi.waitFor(async () => {
    const rows = await server.application.db
      .selectFrom('audit_log')
      .selectAll()
      .where('id', '>', before)
      .where('user_agent', '=', 'audit test')
      .execute()
    expect(rows.map((row) => row.action)).toContain(action)
    for (const row of rows) {
      expect(row).toMatchObject({ address: '127.0.0.1', result: 'succeeded' })
      expect(JSON.stringify(row)).not.toMatch(/correct horse|a longer engine/)
    }
  }, 20_000)
})

test.each(recorded.filter(([operation]) => !changesProcessor.includes(operation)))(
  '%s changes nothing if its row cannot be written',
  async (operation) => {
    const { db } = server.application
    const { client, method, path, body, headers } = await prepare(operation)
    await sql`
      CREATE FUNCTION fail_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no audit'; END $$`.execute(
      db,
    )
    await sql`CREATE TRIGGER fail_audit BEFORE INSERT ON audit_log EXECUTE FUNCTION fail_audit()`.execute(db)
    onTestFinished(async () => {
      await sql`DROP FUNCTION IF EXISTS fail_audit() CASCADE`.execute(db)
      // The next test invites the same person.
      await db
        .updateTable('invitations')
        .set({ expires_at: new Date(0) })
        .execute()
    })
    const before = [await readTenant(server, tenants), await countRows()]
    const { status } = await client.request(method, path, body, headers)
    if (operation !== 'POST /v1/auth/password-reset/request') expect(status).toBe(500)
    expect([await readTenant(server, tenants), await countRows()]).toEqual(before)
  },
)

async function countRows(): Promise<unknown> {
  const { rows } = await sql`
    SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM sessions) AS sessions,
      (SELECT count(*) FROM deployments) AS deployments, (SELECT count(*) FROM invitations) AS invitations,
      (SELECT json_agg(b ORDER BY id) FROM budgets b) AS budgets,
      (SELECT json_agg(w ORDER BY organization_id) FROM webhooks w) AS webhooks,
      (SELECT count(*) FROM webhook_messages) AS messages,
      (SELECT count(*) FROM identities) AS identities,
      (SELECT json_agg(f ORDER BY user_id) FROM totp_factors f) AS factors,
      (SELECT json_agg(p ORDER BY id) FROM passkeys p) AS passkeys,
      (SELECT json_agg(c ORDER BY challenge_hash) FROM passkey_challenges c) AS challenges,
      (SELECT json_agg(r ORDER BY code_hash) FROM recovery_codes r) AS recovery_codes,
      (SELECT count(*) FROM password_resets WHERE closed_at IS NULL) AS resets`.execute(server.application.db)
  return rows
}
