import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import { invite } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/user/organizations'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())

test('GET /v1/user/organizations: 401 without a session', async () => {
  expect((await createClient(server.url).get(path)).status).toBe(401)
})

test('GET /v1/user/organizations: lists all memberships by name, with role and current organization', async () => {
  const client = await registerClient(server.url, { organization: 'engines' })
  const { body: own } = await client.get('/v1/organization')
  const { id, slug, permissions } = own
  expect((await client.get(path)).body).toEqual([
    {
      id,
      name: 'engines',
      slug,
      role: 'super_admin',
      permissions,
      current: true,
      on_account_deletion: 'close',
    },
  ])
  for (const [organization, role] of [
    ['Looms', 'viewer'],
    ['Docks', 'admin'],
  ] as const) {
    const inviter = await registerClient(server.url, { organization })
    const { token } = await invite(server, inviter, { email: client.email, role })
    expect((await client.post(`/v1/invitations/by-token/${token}/accept`)).status).toBe(200)
  }
  const list = async () =>
    (await client.get(path)).body.map((item: { name: string; role: string; current: boolean }) => [
      item.name,
      item.role,
      item.current,
    ])
  expect(await list()).toEqual([
    ['Docks', 'admin', true],
    ['engines', 'super_admin', false],
    ['Looms', 'viewer', false],
  ])
  const looms = (await client.get(path)).body.find(({ name }: { name: string }) => name === 'Looms')
  expect(looms.permissions).not.toContain('createDeployments')
  await client.patch('/v1/user/profile', { current_organization_id: own.id })
  expect(await list()).toEqual([
    ['Docks', 'admin', false],
    ['engines', 'super_admin', true],
    ['Looms', 'viewer', false],
  ])
})

test('GET /v1/user/organizations: on_account_deletion tells what DELETE /v1/user does', async () => {
  const owner = await registerClient(server.url, { organization: 'engines' })
  const member = await registerClient(server.url, { organization: 'looms' })
  const { token } = await invite(server, owner, { email: member.email, role: 'admin' })
  expect((await member.post(`/v1/invitations/by-token/${token}/accept`)).status).toBe(200)
  const list = async (client: typeof owner) =>
    (await client.get(path)).body.map((item: { name: string; on_account_deletion: string }) => [
      item.name,
      item.on_account_deletion,
    ])
  expect(await list(owner)).toEqual([['engines', 'refuse']])
  expect(await list(member)).toEqual([
    ['engines', 'leave'],
    ['looms', 'close'],
  ])
  const refused = await owner.request('DELETE', '/v1/user', { password: owner.password })
  expect(refused.body).toMatchObject({
    code: 'last_super_admin',
    detail: 'The organization needs an owner. Make another member an owner first.',
  })
  expect((await member.request('DELETE', '/v1/user', { password: member.password })).status).toBe(204)
  expect(await list(owner)).toEqual([['engines', 'close']])
})
