import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { disableUser } from '../../src/features/operators/disable-user.ts'
import { identifyOperator } from '../../src/features/operators/operator.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { invite } from '../support/organizations.ts'
import type { Account } from '../support/organizations.ts'
import { addTotp } from '../support/second-factors.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const route = '/v1/organization/audit-log'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())

let admins: Account[]
let person: Account
beforeEach(async () => {
  admins = [await registerClient(server.url), await registerClient(server.url)]
  person = await registerClient(server.url, { organization: 'Own' })
  for (const admin of admins) {
    const { token } = await invite(server, admin, { email: person.email })
    expect((await person.post(`/v1/invitations/by-token/${token}/accept`)).status).toBe(200)
  }
})

/** The newest actions that an admin sees of the person, or about them. */
async function see(admin: Client, count: number): Promise<string[]> {
  const { items } = (await admin.get(`${route}?limit=${count}`)).body
  return items.map(({ action }: { action: string }) => action)
}

test('what a person does to their account is in the audit log of each of their organizations', async () => {
  const { email, password } = person
  const client = createClient(server.url)
  await client.post('/v1/user/signin', { email, password: 'not my password' })
  await client.post('/v1/user/signin', { email, password })
  await client.post('/v1/user/password', { current_password: password, new_password: 'a longer engine' })
  await addTotp({ ...client, email, password: 'a longer engine' })
  await client.get('/v1/user/export')
  await client.post('/v1/user/logout')
  for (const admin of admins) {
    expect(await see(admin, 8)).toEqual([
      'session.ended',
      'user.data_exported',
      'user.second_factor_added',
      'user.second_factor_started',
      'user.password_changed',
      'session.started',
      'session.sign_in_refused',
      'invitation.accepted',
    ])
  }
})

test('what an operator does to an account is in the audit log of each of its organizations', async () => {
  const { id } = (await person.get('/v1/auth/session')).body.user
  await disableUser(server.application, identifyOperator(), id, true)
  for (const admin of admins) expect(await see(admin, 1)).toEqual(['user.disabled'])
})

test('what a person does in one organization stays in its audit log', async () => {
  const [first, second] = admins
  await person.patch('/v1/user/profile', { country: 'UK' })
  await person.post('/v1/organization/leave')
  expect(await see(second!, 2)).toEqual(['member.left', 'user.updated'])
  expect(await see(first!, 1)).toEqual(['invitation.accepted'])
})

test('the CSV export of the audit log is in the audit log; a page of it is not', async () => {
  const [admin] = admins
  expect(await see(admin!, 1)).toEqual(['invitation.accepted'])
  const csv = await admin!.request('GET', route, undefined, { accept: 'text/csv' })
  expect(csv.status).toBe(200)
  expect(await see(admin!, 1)).toEqual(['organization.audit_log_exported'])
})

test('a CSV export of the usage is in the audit log with its range; a page of it is not', async () => {
  const [admin] = admins
  const usage = '/v1/billing/usage?group_by=member&from=2026-01-01&to=2026-01-31'
  expect((await admin!.get(usage)).status).toBe(200)
  expect(await see(admin!, 1)).toEqual(['invitation.accepted'])
  expect((await admin!.request('GET', usage, undefined, { accept: 'text/csv' })).status).toBe(200)
  const { items } = (await admin!.get(route)).body
  expect(items[0]).toMatchObject({
    action: 'organization.usage_exported',
    details: { group_by: 'member', days: { from: '2026-01-01', to: '2026-01-31' } },
  })
})
