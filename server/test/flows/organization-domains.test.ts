import { afterAll, beforeAll, expect, test } from 'vitest'
import { adminSettings, runAdmin } from '../support/admin.ts'
import type { Browser } from '../support/browser.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { authorize, newPerson, startSsoServer } from '../support/oidc-provider.ts'
import type { Person, SsoServer } from '../support/oidc-provider.ts'
import { registerProven } from '../support/organizations.ts'

const offerPath = '/v1/user/domain-organization'
const domains = [
  'corp.test:Research:member',
  'corp.example:Research:viewer',
  'lab.test:Lab:viewer',
  'old.test:Old:member',
  'first.test:First:member',
]

let server: SsoServer
beforeAll(async () => {
  server = await startSsoServer({
    settings: {
      ORGANIZATION_DOMAINS: domains.join(','),
      OIDC_GROUPS_CLAIM: 'groups',
      OIDC_ROLE_GROUPS: 'admin:berth-admins,member:berth-users',
    },
    providerOptions: { claimsInIdToken: true, moreClaims: ['groups', '_claim_names'] },
  })
})
afterAll(() => server.close())

let serial = 0
function personOf(domain: string, more: Partial<Omit<Person, 'email'>> = {}) {
  serial += 1
  return newPerson({ email: `person-${serial}@${domain}`, ...more })
}

/** Signs people in through the provider at the same moment. Returns a client with the session of each. */
async function signInAll(people: Person[]): Promise<Client[]> {
  const callbacks: { browser: Browser; url: string }[] = []
  for (const person of people) {
    const browser = server.browse()
    callbacks.push({ browser, url: (await authorize(server, browser, person)).href })
  }
  return Promise.all(
    callbacks.map(async ({ browser, url }) => {
      expect((await browser.open(url)).location).toBe('/')
      const client = createClient(server.url)
      client.setCookie(`berth_session=${browser.cookie('berth_session')!.value}`)
      return client
    }),
  )
}

async function signIn(person: Person): Promise<Client> {
  return (await signInAll([person]))[0]!
}

async function whereIs(client: Client): Promise<[organization: string, role: string]> {
  const { body } = await client.get('/v1/auth/session')
  return [body.user.organization, body.user.role.name]
}

async function joinsOf(owner: Client) {
  const { body } = await owner.get('/v1/organization/audit-log?action=member.joined')
  return body.items.map((item: any) => [item.target.name, item.details])
}

test('twenty people of a domain who sign in at the same moment share an organization, and its models', async () => {
  const people = Array.from({ length: 20 }, () => personOf('first.test'))
  const clients = await signInAll(people)
  const places = await Promise.all(clients.map(whereIs))
  expect(new Set(places.map(([name]) => name))).toEqual(new Set(['First']))
  expect(places.map(([, role]) => role).toSorted()).toEqual([...Array(19).fill('member'), 'super_admin'])
  const found = await server.application.db
    .selectFrom('organizations')
    .select('id')
    .where('name', '=', 'First')
    .execute()
  expect(found).toHaveLength(1)

  const owner = clients[places.findIndex(([, role]) => role === 'super_admin')]!
  expect(await joinsOf(owner)).toHaveLength(20)
  const { body: deployment } = await owner.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  await owner.patch(`/api/v1/model-deployments/${deployment.id}`, { shared_with: 'organization' })
  for (const client of clients) {
    const { body } = await client.get('/api/v1/model-deployments?scope=callable')
    expect(body.items.map(({ id }: { id: string }) => id)).toEqual([deployment.id])
  }
})

test('two domains of one organization, in any case; another domain and an unproven address have their own', async () => {
  const owner = await signIn(personOf('corp.test'))
  expect(await whereIs(owner)).toEqual(['Research', 'super_admin'])
  expect(await whereIs(await signIn(personOf('CORP.test')))).toEqual(['Research', 'member'])
  expect(await whereIs(await signIn(personOf('corp.example')))).toEqual(['Research', 'viewer'])
  for (const person of [
    personOf('sub.corp.test'),
    personOf('corp.test.evil.test'),
    personOf('corp.test', { email_verified: false }),
  ]) {
    expect((await whereIs(await signIn(person)))[1]).toBe('super_admin')
  }
  const squatter = await registerClient(server.url, { email: 'squatter@corp.test' })
  expect((await squatter.get(offerPath)).body).toEqual({ offer: null })
  expect((await squatter.post(offerPath)).status).toBe(404)
})

test('a name that somebody took before decides nothing: the domain has its own organization', async () => {
  await registerClient(server.url, { organization: 'Lab' })
  await signIn(personOf('lab.test'))
  const named = await server.application.db
    .selectFrom('organizations')
    .select('id')
    .where('name', '=', 'Lab')
    .execute()
  expect(named).toHaveLength(2)
})

test('existing people get an offer and keep what they have', async () => {
  await signIn(personOf('corp.test'))
  const person = await registerProven(server, { email: `early-${Date.now()}@corp.test` })
  const [own] = await whereIs(person)
  expect((await person.get(offerPath)).body.offer).toEqual({
    domain: 'corp.test',
    organization: 'Research',
    role: 'member',
  })
  expect((await person.post(offerPath)).status).toBe(204)
  expect(await whereIs(person)).toEqual(['Research', 'member'])
  const { body } = await person.get('/v1/user/organizations')
  expect(body.map(({ name }: { name: string }) => name).toSorted()).toEqual([own, 'Research'].toSorted())
  expect((await person.get(offerPath)).body).toEqual({ offer: null })
  expect((await person.post(offerPath)).status).toBe(404)
})

test('a removed person does not come back by their address', async () => {
  const owner = await signIn(personOf('old.test'))
  const person = personOf('old.test')
  const member = await signIn(person)
  const { body: members } = await owner.get('/v1/organization/members')
  const { id } = members.find(({ email }: { email: string }) => email === person.email)
  expect((await owner.delete(`/v1/organization/members/${id}`)).status).toBe(204)
  expect((await whereIs(await signIn(person)))[0]).not.toBe('Old')
  expect((await member.get(offerPath)).status).not.toBe(500)
  const again = await signIn(person)
  expect((await again.get(offerPath)).body).toEqual({ offer: null })
  expect((await again.post(offerPath)).status).toBe(404)
})

test('an operator gives a domain to an organization that exists, and takes it away', async () => {
  const settings = adminSettings(server)
  const owner = await registerProven(server)
  const [{ id, name }] = (await owner.get('/v1/user/organizations')).body
  const given = await runAdmin(settings, [
    'organization',
    'domains',
    'Given.Test',
    String(id),
    '--role',
    'viewer',
  ])
  expect([given.code, given.stderr]).toEqual([0, ''])
  expect(await whereIs(await signIn(personOf('given.test')))).toEqual([name, 'viewer'])
  expect((await runAdmin(settings, ['organization', 'domains'])).stdout).toContain('given.test')
  expect((await runAdmin(settings, ['organization', 'domains', 'given.test', '--remove'])).code).toBe(0)
  expect((await whereIs(await signIn(personOf('given.test'))))[1]).toBe('super_admin')
  for (const wrong of [
    ['nodomain', String(id)],
    ['given.test'],
    ['given.test', '999999'],
    ['none.test', '--remove'],
  ]) {
    expect((await runAdmin(settings, ['organization', 'domains', ...wrong])).code).toBe(1)
  }
  const { body } = await owner.get('/v1/organization/audit-log')
  const actions = body.items.map(({ action }: { action: string }) => action)
  expect(actions).toEqual(
    expect.arrayContaining(['organization.domain_added', 'organization.domain_removed']),
  )
})

test('at each sign-in, the role follows the groups; owners stay', async () => {
  const owner = personOf('corp.test')
  await signIn(owner)
  const person = personOf('corp.test', { groups: ['berth-users', 'berth-admins', 7] })
  const roles = []
  for (const groups of [person['groups'], ['berth-users'], 'berth-admins', undefined, ['berth-admins']]) {
    roles.push((await whereIs(await signIn({ ...person, groups })))[1])
  }
  expect(roles).toEqual(['admin', 'member', 'admin', 'member', 'admin'])
  // Microsoft Entra sends this in place of more than 200 groups.
  const overage = {
    ...person,
    groups: undefined,
    _claim_names: { groups: 'src1' },
    _claim_sources: { src1: { endpoint: 'https://graph.test/v1.0/users/7/getMemberObjects' } },
  }
  expect(await whereIs(await signIn(overage))).toEqual(['Research', 'admin'])
  const unproven = { ...person, groups: ['berth-users'], email_verified: false }
  expect(await whereIs(await signIn(unproven))).toEqual(['Research', 'admin'])
  const first = personOf('groups.test')
  expect(await whereIs(await signIn({ ...first, groups: ['berth-users'] }))).toEqual([
    expect.any(String),
    'super_admin',
  ])
})

test('at each sign-in, teams follow the groups of the same name; whom an admin added stays', async () => {
  const admin = await signIn(personOf('corp.test', { groups: ['berth-admins'] }))
  const createTeam = async (name: string): Promise<number> =>
    (await admin.post('/v1/organization/teams', { name })).body.id
  const names = ['Kernel', 'paths', 'Manual']
  const ids = [await createTeam('Kernel'), await createTeam('paths'), await createTeam('Manual')] as const
  const person = personOf('corp.test', { groups: ['berth-users'] })
  const client = await signIn(person)
  const { id: userId } = (await client.get('/v1/auth/session')).body.user
  expect((await admin.request('PUT', `/v1/organization/teams/${ids[2]}/members/${userId}`)).status).toBe(204)
  const signInWith = async (groups: unknown, more: object = {}) => {
    const signedIn = await signIn({ ...person, groups, ...more })
    const { body } = await signedIn.get('/v1/organization/teams')
    return body.map(({ name }: any) => name).filter((name: string) => names.includes(name))
  }
  expect(await signInWith(['berth-users', 'kernel', '/paths', 'unknown'])).toEqual(names)
  expect(await signInWith(['berth-users', 'kernel'])).toEqual(['Kernel', 'Manual'])
  expect(await signInWith(['berth-users'], { email_verified: false }), 'proves nothing').toEqual([
    'Kernel',
    'Manual',
  ])
  expect(await signInWith(['berth-users', 'manual'])).toEqual(['Manual'])
  expect(await signInWith(['berth-users'])).toEqual(['Manual'])
  const log = (await admin.get('/v1/organization/audit-log?action=team.member_removed')).body.items
  expect(log.map(({ target }: any) => target.name)).toEqual(['Kernel', 'paths'])
  expect(log[0]).toMatchObject({ details: { email: person.email, by: 'provider' } })
})
