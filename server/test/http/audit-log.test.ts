import { sql } from 'kysely'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { hashToken } from '../../src/features/accounts/link-token.ts'
import { insertReset } from '../support/password-resets.ts'
import { prepareRequest } from '../support/matrix-requests.ts'
import { startSsoServer } from '../support/oidc-provider.ts'
import type { SsoServer } from '../support/oidc-provider.ts'
import { registerClient } from '../support/client.ts'
import { joinClient } from '../support/organizations.ts'
import { listOperations } from '../support/operations.ts'
import { startAnsweringEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { addPasskey, createAuthenticator } from '../support/passkeys.ts'
import { addTotp, beginTotp } from '../support/second-factors.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { createTenants, openClient, readTenant } from '../support/tenants.ts'
import type { Tenants } from '../support/tenants.ts'

/** The action that each operation records. */
const recorded: Record<string, string> = {
  'POST /v1/user/register': 'user.registered',
  'POST /v1/user/signin': 'session.started',
  'POST /v1/user/logout': 'session.ended',
  'PATCH /v1/user/profile': 'user.updated',
  'POST /v1/user/password': 'user.password_changed',
  'DELETE /v1/user': 'user.deleted',
  'DELETE /v1/auth/sessions': 'session.ended',
  'DELETE /v1/auth/sessions/{session_id}': 'session.ended',
  'POST /v1/user/second-factors/totp': 'user.second_factor_started',
  'POST /v1/user/second-factors/totp/confirm': 'user.second_factor_added',
  'DELETE /v1/user/second-factors/totp': 'user.second_factor_removed',
  'POST /v1/user/second-factors/passkeys/start': 'user.second_factor_started',
  'POST /v1/user/second-factors/passkeys': 'user.second_factor_added',
  'DELETE /v1/user/second-factors/passkeys/{passkey_id}': 'user.second_factor_removed',
  'POST /v1/user/second-factors/recovery-codes': 'user.recovery_codes_renewed',
  'POST /v1/user/email-verification/request': 'user.email_verification_requested',
  'POST /v1/user/email-verification/confirm': 'user.email_verified',
  'POST /v1/auth/password-reset/request': 'user.password_reset_requested',
  'POST /v1/auth/password-reset/confirm': 'user.password_reset',
  'PATCH /v1/organization': 'organization.updated',
  'PATCH /v1/organization/members/{member_id}': 'member.role_changed',
  'DELETE /v1/organization/members/{member_id}': 'member.removed',
  'POST /v1/organization/leave': 'member.left',
  'POST /v1/organization/invitations': 'invitation.created',
  'DELETE /v1/organization/invitations/{invitation_id}': 'invitation.cancelled',
  'POST /v1/organization/invitations/{invitation_id}/resend': 'invitation.resent',
  'POST /v1/organization/invitations/{invitation_id}/link': 'invitation.link_copied',
  'POST /v1/invitations/{invitation_id}/reject': 'invitation.rejected',
  'POST /v1/invitations/by-token/{token}/accept': 'invitation.accepted',
  'POST /v1/invitations/by-token/{token}/reject': 'invitation.rejected',
  'POST /v1/invitations/register': 'invitation.accepted',
  'POST /v1/billing/subscription/activate-postpaid': 'billing_account.activation_started',
  'PATCH /v1/billing/subscription/collection-method': 'billing_account.changed',
  'PATCH /v1/billing/payment-methods/default': 'payment_method.made_default',
  'DELETE /v1/billing/payment-methods/{payment_method_id}': 'payment_method.removed',
  'POST /v1/billing/portal/session': 'billing_portal.opened',
  'POST /v1/billing/checkout/setup-session': 'checkout.started',
  'POST /api/v1/model-deployments': 'deployment.created',
  'PATCH /api/v1/model-deployments/{deployment_id}': 'deployment.changed',
  'DELETE /api/v1/model-deployments/{deployment_id}': 'deployment.terminated',
}

/** Operations that record nothing, each with the reason. */
const notRecorded: Record<string, string> = {
  'POST /v1/invitations/sso/{sso_provider}/start': 'changes nothing until the callback, which is recorded',
  'POST /v1/billing/webhook':
    'an unsigned event changes nothing; a signed one records billing_account.changed',
  'POST /api/v1/model-deployments/plan': 'changes nothing',
  'POST /v1/chat/completions': 'inference is metered',
  'POST /v1/embeddings': 'inference is metered',
}

/** Changes at the payment processor, which is outside the transaction. */
const changesProcessor = [
  'POST /v1/billing/subscription/activate-postpaid',
  'PATCH /v1/billing/subscription/collection-method',
  'PATCH /v1/billing/payment-methods/default',
  'DELETE /v1/billing/payment-methods/{payment_method_id}',
]

const runtime = createScriptedRuntime()
let engine: RecordingEngine
let server: SsoServer
let tenants: Tenants
beforeAll(async () => {
  engine = await startAnsweringEngine(runtime)
  server = await startSsoServer({ worker: true, runtime })
  tenants = await createTenants(server)
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

/** Prepares a request that succeeds, and the client that sends it. */
async function prepare(operation: string) {
  const actor = tenants.members.super_admin
  const request = await prepareRequest(operation, { server, tenants, actor, isOutsider: false })
  const client = await openClient(server, actor)
  if (operation === 'POST /v1/auth/password-reset/confirm') {
    const token = await insertReset(server, tenants.stranger.userId)
    return { ...request, client, body: { token, password: 'a longer engine' } }
  }
  if (operation === 'POST /v1/user/email-verification/confirm') {
    const token = 'V'.repeat(43)
    const link = { nonce: 'nonce', token_hash: hashToken(token), expires_at: new Date(Date.now() + 60_000) }
    const { db } = server.application
    await db
      .insertInto('email_verifications')
      .values({ user_id: actor.userId, ...link })
      .onConflict((conflict) => conflict.column('user_id').doUpdateSet(link))
      .execute()
    return { ...request, client, body: { token } }
  }
  if (operation === 'POST /v1/user/password') {
    const client = await registerClient(server.url)
    return {
      ...request,
      client,
      body: { current_password: client.password, new_password: 'a longer engine' },
    }
  }
  if (operation.includes('/second-factors')) {
    const account = await registerClient(server.url)
    const { password } = account
    if (operation.startsWith('POST') && /totp$|start$/.test(operation)) {
      return { ...request, client: account, body: { password } }
    }
    if (operation === 'POST /v1/user/second-factors/passkeys') {
      const { options } = (await account.post(`${request.path}/start`, { password })).body
      const { origin } = server.application.config.publicUrl
      return {
        ...request,
        client: account,
        body: { name: 'Laptop', response: createAuthenticator(origin).create(options) },
      }
    }
    if (operation.endsWith('/{passkey_id}')) {
      await addPasskey(account, server.application.config.publicUrl.origin)
      const { passkeys } = (await account.get('/v1/user/second-factors')).body
      const path = `/v1/user/second-factors/passkeys/${passkeys[0].id}`
      return { ...request, client: account, path, body: { password } }
    }
    if (operation.endsWith('/confirm')) {
      const { code } = await beginTotp(account)
      return { ...request, client: account, body: { code: code() } }
    }
    await addTotp(account)
    return { ...request, client: account, body: { password } }
  }
  if (operation === 'DELETE /v1/user') {
    const client = await registerClient(server.url)
    return { ...request, client, body: { password: client.password } }
  }
  if (operation === 'DELETE /v1/auth/sessions') await openClient(server, actor)
  if (operation === 'POST /v1/organization/leave') {
    const inviter = Object.assign(client, { email: actor.email, password: '' })
    return { ...request, client: await joinClient(server, inviter, 'viewer') }
  }
  return { ...request, client }
}

async function readNewestId(): Promise<number> {
  const newest = server.application.db.selectFrom('audit_log').select(({ fn }) => fn.max('id').as('id'))
  return (await newest.executeTakeFirstOrThrow()).id ?? 0
}

test('every mutating operation is in one of the two lists', async () => {
  const document = (await (await openClient(server, null)).get('/openapi.json')).body
  const mutating = listOperations(document)
    .filter(({ method }) => method !== 'GET')
    .map(({ method, path }) => `${method} ${path}`)
  expect([...Object.keys(recorded), ...Object.keys(notRecorded)].toSorted()).toEqual(mutating.toSorted())
})

test.each(Object.entries(recorded))('%s records %s', async (operation, action) => {
  const { client, method, path, body } = await prepare(operation)
  const before = await readNewestId()
  const answer = await client.request(method, path, body, { 'user-agent': 'audit test' })
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

test.each(Object.keys(recorded).filter((operation) => !changesProcessor.includes(operation)))(
  '%s changes nothing if its row cannot be written',
  async (operation) => {
    const { db } = server.application
    const { client, method, path, body } = await prepare(operation)
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
    const { status } = await client.request(method, path, body)
    if (operation !== 'POST /v1/auth/password-reset/request') expect(status).toBe(500)
    expect([await readTenant(server, tenants), await countRows()]).toEqual(before)
  },
)

async function countRows(): Promise<unknown> {
  const { rows } = await sql`
    SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM sessions) AS sessions,
      (SELECT count(*) FROM deployments) AS deployments, (SELECT count(*) FROM invitations) AS invitations,
      (SELECT json_agg(f ORDER BY user_id) FROM totp_factors f) AS factors,
      (SELECT json_agg(p ORDER BY id) FROM passkeys p) AS passkeys,
      (SELECT json_agg(c ORDER BY challenge_hash) FROM passkey_challenges c) AS challenges,
      (SELECT json_agg(r ORDER BY code_hash) FROM recovery_codes r) AS recovery_codes,
      (SELECT count(*) FROM password_resets WHERE closed_at IS NULL) AS resets`.execute(server.application.db)
  return rows
}
