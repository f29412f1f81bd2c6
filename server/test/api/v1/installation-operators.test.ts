import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { identifyOperator } from '../../../src/features/operators/operator.ts'
import { disableUser } from '../../../src/features/operators/disable-user.ts'
import { adminSettings, runAdmin } from '../../support/admin.ts'
import { registerClient } from '../../support/client.ts'
import { deploy, waitForStatus } from '../../support/deployments.ts'
import { listOperations } from '../../support/operations.ts'
import { addPasskey } from '../../support/passkeys.ts'
import type { Account } from '../../support/organizations.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

let server: TestServer
let tenant: Account
let tenantId: number
let paths: string[]
let deploymentId: string
beforeAll(async () => {
  server = await startTestServer()
  tenant = await registerClient(server.url, { organization: 'Analytical Engines' })
  tenantId = (await tenant.get('/v1/organization')).body.id
  const document = (await tenant.get('/openapi.json')).body
  const own = listOperations(document).filter(({ path }) => path.startsWith('/v1/installation/'))
  expect(own.every(({ method }) => method === 'GET')).toBe(true)
  paths = own.map(({ path }) => path.replace('{organization_id}', String(tenantId)))
  deploymentId = (await deploy(tenant)).id
  await waitForStatus(tenant, deploymentId, 'running')
})
afterAll(() => server.close())

let operator: Account
beforeEach(async () => {
  operator = await registerClient(server.url, { organization: 'Operations' })
})

const run = (...args: string[]) => runAdmin(adminSettings(server), args)

async function grant(): Promise<void> {
  expect(await run('operator', 'grant', operator.email.toUpperCase())).toMatchObject({ code: 0 })
  await addPasskey(operator, server.application.config.publicUrl.origin)
}

async function listActions(account: Account): Promise<string[]> {
  const { items } = (await account.get('/v1/organization/audit-log')).body
  return items.map(({ action }: { action: string }) => action)
}

test('owners of organizations see nothing of the installation: 403 forbidden', async () => {
  expect((await operator.get('/v1/auth/session')).body.user.operator).toBe(false)
  for (const path of paths) {
    expect(await operator.get(path)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  }
})

test('a granted person needs a second factor at each read: 403 second_factor_required', async () => {
  expect(await run('operator', 'grant', operator.email)).toMatchObject({ code: 0 })
  expect((await operator.get('/v1/auth/session')).body.user.operator).toBe(true)
  for (const path of paths) {
    expect(await operator.get(path)).toMatchObject({ status: 403, body: { code: 'second_factor_required' } })
  }
  await addPasskey(operator, server.application.config.publicUrl.origin)
  for (const path of paths) expect([path, (await operator.get(path)).status]).toEqual([path, 200])
  const { passkeys } = (await operator.get('/v1/user/second-factors')).body
  const { password } = operator
  await operator.request('DELETE', `/v1/user/second-factors/passkeys/${passkeys[0].id}`, { password })
  expect((await operator.get(paths[0]!)).body.code).toBe('second_factor_required')
})

test('operator grant, list, revoke: at once, and in the audit log of the person’s organization', async () => {
  await grant()
  expect((await run('operator', 'list')).stdout).toContain(operator.email)
  expect((await run('operator', 'grant', operator.email)).stdout).toBe('Granted before.\n')
  expect((await run('operator', 'revoke', operator.email)).stdout).toBe('Revoked.\n')
  expect((await run('operator', 'revoke', operator.email)).stdout).toBe('The person was no operator.\n')
  expect((await run('operator', 'list')).stdout).not.toContain(operator.email)
  expect((await operator.get(paths[0]!)).body.code).toBe('forbidden')
  const actions = await listActions(operator)
  expect(actions.filter((action) => action.startsWith('user.operator'))).toEqual([
    'user.operator_revoked',
    'user.operator_granted',
  ])
})

test('no one without an account, no program and no disabled account becomes an operator', async () => {
  expect(await run('operator', 'grant', 'nobody@example.com')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No person has this email.'),
  })
  const program = { name: 'CI', role: 'member', allowed_networks: ['127.0.0.0/8'] }
  const { email } = (await tenant.post('/v1/organization/service-members', program)).body
  expect(await run('operator', 'grant', email)).toMatchObject({ code: 1 })
  const { id } = (await operator.get('/v1/auth/session')).body.user
  await disableUser(server.application, identifyOperator(), id, true)
  expect(await run('operator', 'grant', operator.email)).toMatchObject({ code: 1 })
})

test('disabling and deleting the account end the grant', async () => {
  await grant()
  const { id } = (await operator.get('/v1/auth/session')).body.user
  await disableUser(server.application, identifyOperator(), id, true)
  await disableUser(server.application, identifyOperator(), id, false)
  expect((await run('operator', 'list')).stdout).not.toContain(operator.email)
  const other = await registerClient(server.url)
  await run('operator', 'grant', other.email)
  const { password } = other
  expect((await other.request('DELETE', '/v1/user', { password })).status).toBe(204)
  const ended = server.application.db.selectFrom('audit_log').select('actor_email')
  const rows = await ended.where('action', '=', 'user.operator_revoked').execute()
  expect(rows.map(({ actor_email: actor }) => actor)).toContain(other.email)
})

test('machines: instance types, engines, and what runs where with its organization', async () => {
  await grant()
  const { body } = await operator.get('/v1/installation/machines')
  expect(body).toMatchObject({ runtimes: ['local'], machines: [] })
  expect(body.instance_types.length).toBeGreaterThan(0)
  const own = body.instances.find((each: any) => each.deployment_id === deploymentId)
  expect(own).toMatchObject({
    organization_id: tenantId,
    organization_name: 'Analytical Engines',
    status: 'running',
    memory_bytes: expect.any(Number),
  })
  const type = body.instance_types.find(({ name }: any) => name === own.instance_type)
  expect(type.promised_bytes).toBeGreaterThanOrEqual(own.memory_bytes)
  expect((await operator.get('/v1/installation/waiting')).body).toEqual({ items: [] })
})

test('organizations: in numbers; the details of one are in its audit log at each read', async () => {
  await grant()
  const { items, total } = (await operator.get('/v1/installation/organizations?limit=500')).body
  expect(items).toHaveLength(total)
  const row = items.find(({ id }: any) => id === tenantId)
  expect(row).toMatchObject({ name: 'Analytical Engines', status: 'active', members: 2, running: 1 })
  const countReads = async () =>
    (await listActions(tenant)).filter((action) => action === 'organization.seen_by_operator').length
  const before = await countReads()
  const path = `/v1/installation/organizations/${tenantId}`
  const detail = (await operator.get(path)).body
  await operator.get(path)
  expect(detail.instances.map((each: any) => each.deployment_id)).toEqual([deploymentId])
  expect(await countReads()).toBe(before + 2)
  expect(await operator.get('/v1/installation/organizations/9999999')).toMatchObject({ status: 404 })
})

test('health and findings: background work, other servers, and a remedy for each problem', async () => {
  await grant()
  const health = (await operator.get('/v1/installation/health')).body
  expect(health).toMatchObject({ anomalies: [], jobs_failed: 0 })
  expect(health.services.map(({ name }: any) => name)).toContain('model hub')
  const again = (await operator.get('/v1/installation/health')).body
  expect(again.services).toEqual(health.services)
  const { items } = (await operator.get('/v1/installation/findings')).body
  const problems = items.map(({ remedy }: any) => remedy !== null)
  expect(problems).toEqual(problems.toSorted().toReversed())
  expect(items.map(({ subject }: any) => subject)).toContain('database')
})
