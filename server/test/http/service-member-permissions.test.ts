import { beforeAll, expect, test } from 'vitest'
import { notRecorded, operationTable, peopleOnly, prepareRequest } from '../support/operation-table.ts'
import type { SsoServer } from '../support/oidc-provider.ts'
import { listOperations } from '../support/operations.ts'
import { createService, openService } from '../support/service-members.ts'
import type { ServiceAccount } from '../support/service-members.ts'
import { deployFor, openClient, startTenants, waitUntilRunning } from '../support/tenants.ts'
import type { Actor, Tenants } from '../support/tenants.ts'

let server: SsoServer
let tenants: Tenants
let service: ServiceAccount
let actor: Actor
beforeAll(async () => {
  const started = await startTenants()
  server = started.server
  tenants = started.tenants
  const { superAdmin, organizationId } = {
    superAdmin: await openClient(server, tenants.members.super_admin),
    organizationId: tenants.members.super_admin.organizationId,
  }
  service = await createService(superAdmin)
  const { user_id: userId, email } = service
  actor = { userId, email, name: 'Nightly report', organizationId, role: 'member' }
  tenants.deployments.set(actor, await deployFor(server, actor))
  await waitUntilRunning(server, tenants.deployments.get(actor)!)
  return () => started.close()
})

test.each([...peopleOnly])('%s concerns people', async (operation) => {
  const [method = '', path = ''] = operation.split(' ')
  const client = await openService(server.url, service)
  const body = method === 'GET' ? undefined : {}
  const answer = await client.request(method, path.replaceAll(/\{\w+\}/g, '1'), body)
  expect(answer).toMatchObject({ status: 403, body: { code: 'people_only' } })
})

const others = [...operationTable].filter(([operation]) => !peopleOnly.has(operation))

test.each(others)('%s: a service member may do what a member may', async (operation, { statuses }) => {
  const caller = { server, tenants, actor, isOutsider: false }
  const { method, path, body } = await prepareRequest(operation, caller)
  const client = await openService(server.url, service)
  expect((await client.request(method, path, body)).status).toBe(statuses.member)
})

test('a service member calls every route from its networks only', async () => {
  const superAdmin = await openClient(server, tenants.members.super_admin)
  const elsewhere = await createService(superAdmin)
  const client = await openService(server.url, elsewhere)
  // The trigger would end the session too.
  const { db } = server.application
  const users = db.updateTable('users').set({ allowed_networks: ['192.0.2.0/24'] })
  await users.where('id', '=', elsewhere.user_id).execute()
  const document = (await superAdmin.get('/openapi.json')).body
  const operations = listOperations(document).filter(({ isPublic }) => !isPublic)
  expect(operations.length).toBeGreaterThan(80)
  for (const { method, path } of operations) {
    const body = method === 'GET' ? undefined : {}
    const answer = await client.request(method, path.replaceAll(/\{\w+\}/g, '1'), body)
    // Errors have the shape of the route's protocol.
    const isRefused = JSON.stringify(answer.body).includes('may not work from 127.0.0.1')
    expect([method, path, answer.status, isRefused]).toEqual([method, path, 403, true])
  }
})

test('the audit log names the service member for every act', async () => {
  const superAdmin = await openClient(server, tenants.members.super_admin)
  const query = `?actor_user_id=${service.user_id}&limit=500`
  const { items } = (await superAdmin.get(`/v1/organization/audit-log${query}`)).body
  const recorded = [...operationTable].filter(
    ([operation, { audit, statuses }]) =>
      audit !== null &&
      statuses.member < 300 &&
      statuses.anonymous === 401 &&
      !peopleOnly.has(operation) &&
      !(operation in notRecorded),
  )
  expect(recorded.length).toBeGreaterThan(3)
  const actions = new Set(items.map(({ action }: any) => action))
  for (const [operation, { audit }] of recorded)
    expect([operation, actions.has(audit)]).toEqual([operation, true])
  for (const { actor: who } of items) expect(who.email).toBe(service.email)
})
