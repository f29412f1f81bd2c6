import { beforeAll, describe, expect, test } from 'vitest'
import { roleIds } from '../../src/base/roles.ts'
import type { RoleName } from '../../src/base/roles.ts'
import { registerClient } from '../support/client.ts'
import type { Answer } from '../support/client.ts'
import { operationTable, prepareRequest } from '../support/operation-table.ts'
import type { ActorName } from '../support/operation-table.ts'
import type { SsoServer } from '../support/oidc-provider.ts'
import { listOperations } from '../support/operations.ts'
import { deployFor, openClient, readTenant, startTenants, waitUntilRunning } from '../support/tenants.ts'
import type { Actor, Tenants } from '../support/tenants.ts'

/** The token of an invitation grants the right to preview it and to register with it. */
const opensByToken = new Set([
  'GET /v1/invitations/by-token/{token}',
  'POST /v1/invitations/register',
  'POST /v1/invitations/sso/{sso_provider}/start',
])

const outsiders: readonly ActorName[] = ['anonymous', 'stranger']
const insiders: readonly ActorName[] = ['viewer', 'member', 'admin', 'super_admin']

/** The response to each caller with the request, whose content a response may repeat. */
const exchanges: { actor: ActorName; operation: string; sent: string; answer: string }[] = []

let server: SsoServer
let tenants: Tenants
beforeAll(async () => {
  const started = await startTenants()
  server = started.server
  tenants = started.tenants
  return () => started.close()
})

function findActor(name: ActorName): Actor | null {
  return name === 'anonymous' ? null : name === 'stranger' ? tenants.stranger : tenants.members[name]
}

async function ask(operation: string, name: ActorName): Promise<Answer> {
  const actor = findActor(name)
  const isOutsider = outsiders.includes(name)
  const caller = { server, tenants, actor, isOutsider }
  const { method, path, body, headers, client } = await prepareRequest(operation, caller)
  const before = isOutsider ? await readTenant(server, tenants) : null
  const answer = await client.request(method, path, body, headers)
  if (before !== null && !opensByToken.has(operation)) {
    expect(await readTenant(server, tenants), `${name} changed the tenant`).toEqual(before)
  }
  exchanges.push({
    actor: name,
    operation,
    sent: `${path} ${JSON.stringify(body)}`,
    answer: JSON.stringify([...answer.headers, answer.body]),
  })
  return answer
}

test('every API operation has a row, and every row has an operation', async () => {
  const document = (await (await openClient(server, null)).get('/openapi.json')).body
  const operations = listOperations(document).map(({ method, path }) => `${method} ${path}`)
  expect([...operationTable.keys()].toSorted()).toEqual(operations.toSorted())
})

// Else a wrong password could look like a missing session.
test('only the links of engines refuse everybody', () => {
  const refusing = [...operationTable].filter(([, { statuses }]) =>
    Object.values(statuses).every((status) => status === 401),
  )
  expect(refusing.map(([operation]) => operation)).toEqual(['GET /api/v1/model-files/{file_name}'])
})

test.each([...operationTable])('%s', async (operation, { statuses: expected }) => {
  const statuses: Partial<Record<ActorName, number>> = {}
  for (const name of Object.keys(expected) as ActorName[])
    statuses[name] = (await ask(operation, name)).status
  expect(statuses).toEqual(expected)
})

/** One runs at a time, and each has a number: `benchmarks.test.ts` has who may do what. */
const startBenchmark = 'POST /api/v1/model-deployments/{deployment_id}/benchmarks'
const isOfBenchmark = (operation: string) =>
  operation === startBenchmark || operation.includes('/benchmarks/')

test.each(
  [...operationTable.keys()].filter(
    (operation) => operation.includes('{deployment_id}') && !isOfBenchmark(operation),
  ),
)(
  '%s: a deployment of a colleague is a 404, except for admins with scope=organization',
  async (operation) => {
    const [method = '', pattern = ''] = operation.split(' ')
    const request = async (name: ActorName, owner: Actor, query = '?scope=organization') => {
      const client = await openClient(server, findActor(name))
      const path = pattern.replace('{deployment_id}', tenants.deployments.get(owner)!) + query
      return (await client.request(method, path, method === 'PATCH' ? {} : undefined)).status
    }
    const { member, admin } = tenants.members
    for (const name of ['viewer', 'member'] as const) expect(await request(name, admin)).toBe(404)
    for (const name of insiders.filter((each) => each !== 'member'))
      expect(await request(name, member, '')).toBe(404)
    for (const name of ['admin', 'super_admin'] as const) {
      const owner = method === 'DELETE' ? await addDeployment() : member
      expect(await request(name, owner)).toBe(200)
    }
  },
)

/** Another deployment of the member, which the test may end. */
async function addDeployment(): Promise<Actor> {
  const owner = { ...tenants.members.member }
  tenants.deployments.set(owner, await deployFor(server, owner))
  return owner
}

const roles = Object.keys(roleIds) as RoleName[]

describe('organization of the deployment × current organization × role in each', () => {
  /** A person of two organizations, as the owner of a running deployment in the tenant's. */
  let person: Actor
  let elsewhere: number

  beforeAll(async () => {
    const { organizationId } = tenants.members.super_admin
    const client = await registerClient(server.url, { organization: 'Elsewhere' })
    const { user } = (await client.get('/v1/auth/session')).body
    elsewhere = (await client.get('/v1/organization')).body.id
    person = { userId: user.id, email: user.email, name: user.name, organizationId, role: 'member' }
    const membership = { user_id: user.id, organization_id: organizationId, role: person.role }
    await server.application.db.insertInto('memberships').values(membership).execute()
    const id = await deployFor(server, person)
    tenants.deployments.set(person, id)
    await waitUntilRunning(server, id)
  })

  async function stand(current: number, role: RoleName, roleElsewhere: RoleName): Promise<void> {
    const { db } = server.application
    const { userId, organizationId } = person
    await db.updateTable('users').set({ current_organization_id: current }).where('id', '=', userId).execute()
    for (const [id, given] of [
      [organizationId, role],
      [elsewhere, roleElsewhere],
    ] as const) {
      await db
        .updateTable('memberships')
        .set({ role: given })
        .where('user_id', '=', userId)
        .where('organization_id', '=', id)
        .execute()
    }
  }

  const operations = [...operationTable].filter(
    ([operation]) =>
      (operation.includes('{deployment_id}') && operation !== startBenchmark) ||
      operation.includes('{model}') ||
      operation.includes('/chat/'),
  )

  test.each(operations)(
    '%s: the role in the deployment’s organization decides',
    async (operation, { statuses }) => {
      const client = await openClient(server, person)
      const refusals: string[] = []
      for (const current of [person.organizationId, elsewhere]) {
        for (const role of roles) {
          for (const roleElsewhere of roles) {
            await stand(current, role, roleElsewhere)
            const caller = { server, tenants, actor: person, isOutsider: false }
            const { method, path, body } = await prepareRequest(operation, caller)
            const { status } = await client.request(method, path, body)
            if (status !== statuses[role]) refusals.push(`${current} ${role} ${roleElsewhere}: ${status}`)
          }
        }
      }
      expect(refusals).toEqual([])
    },
  )
})

/** Everything that identifies a tenant: names, emails, ids. */
async function listMarks(actor: Actor): Promise<string[]> {
  const { db } = server.application
  const { organizationId } = actor
  const [organization] = await db
    .selectFrom('organizations')
    .selectAll()
    .where('id', '=', organizationId)
    .execute()
  const people = await db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select(['memberships.id', 'users.id as user_id', 'users.email', 'users.name'])
    .where('organization_id', '=', organizationId)
    .execute()
  const owned = await db
    .selectFrom('deployments')
    .select('id')
    .where('organization_id', '=', organizationId)
    .execute()
  const invited = await db
    .selectFrom('invitations')
    .select(['id', 'invitee_email', 'nonce'])
    .where('organization_id', '=', organizationId)
    .execute()
  const { id, name, slug, description } = organization!
  return [{ id, name, slug, description }, ...people, ...owned, ...invited]
    .flatMap((row) => Object.values(row).map(String))
    .filter((mark) => mark.length >= 6)
}

/** A number is no mark inside another number, such as a figure of `/metrics`. */
function contains(answer: string, mark: string): boolean {
  return /^\d+$/.test(mark) ? new RegExp(`(?<!\\d|\\d\\.)${mark}(?!\\d)`).test(answer) : answer.includes(mark)
}

test.each([
  ['the tenant', outsiders, () => tenants.members.super_admin],
  ['the stranger', insiders, () => tenants.stranger],
] as const)('no response reveals anything about %s', async (_whose, readers, owner) => {
  const marks = await listMarks(owner())
  expect(marks.length).toBeGreaterThan(readers === outsiders ? 50 : 5)
  const seen = exchanges.filter(
    ({ actor, operation }) => readers.includes(actor) && !opensByToken.has(operation),
  )
  expect(seen.length).toBeGreaterThan(operationTable.size)
  const leaks = seen.flatMap(({ actor, operation, sent, answer }) =>
    marks
      .filter((mark) => contains(answer, mark) && !sent.includes(mark))
      .map((mark) => ({ actor, operation, mark })),
  )
  expect(leaks).toEqual([])
})
