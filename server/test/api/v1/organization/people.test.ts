import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../../support/client.ts'
import { createCast, invite } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'
import { createService } from '../../../support/service-members.ts'

let server: TestServer
let cast: Awaited<ReturnType<typeof createCast>>
beforeAll(async () => {
  server = await startTestServer()
  cast = await createCast(server)
  await invite(server, cast.superAdmin, { email: 'zoe_%@example.com', role: 'viewer' })
  await createService(cast.superAdmin)
})
afterAll(() => server.close())

async function list(client: Client, query = '') {
  const { status, body } = await client.get(`/v1/organization/people${query}`)
  expect(status, query).toBe(200)
  return body as { items: Record<string, unknown>[]; total: number }
}

const kindsOf = ({ items }: { items: Record<string, unknown>[] }) =>
  items.map(({ kind }) => String(kind)).toSorted()

test('admins see members, programs and open invitations, with second factors and activity', async () => {
  const { superAdmin, admin } = cast
  const all = await list(admin)
  expect(all.total).toBe(6)
  expect(kindsOf(all)).toEqual(['invitation', 'member', 'member', 'member', 'member', 'service'])
  const other = all.items.find(({ email }) => email === superAdmin.email)!
  expect(other).toMatchObject({ kind: 'member', role: 'super_admin', second_factor: false })
  expect(other['joined_at']).toEqual(expect.any(String))
  expect(other['last_active_at']).toMatch(/T\d\d:00:00\.000Z$/)
  const invitation = all.items.find(({ kind }) => kind === 'invitation')!
  expect(invitation).toEqual({
    kind: 'invitation',
    id: expect.any(Number),
    user_id: null,
    name: null,
    email: 'zoe_%@example.com',
    role: 'viewer',
    second_factor: null,
    last_active_at: null,
    joined_at: null,
  })
})

test('others see no invitation, and of others neither second factor nor activity', async () => {
  const { viewer, member, stranger } = cast
  for (const client of [viewer, member]) {
    const seen = await list(client)
    expect(kindsOf(seen)).toEqual(['member', 'member', 'member', 'member', 'service'])
    for (const person of seen.items) {
      const isOwn = person['email'] === client.email
      expect([
        person['second_factor'],
        person['last_active_at'] !== null,
        person['joined_at'] !== null,
      ]).toEqual(isOwn ? [false, true, true] : [null, false, false])
    }
    expect((await list(client, '?kind=invitation')).total).toBe(0)
    // The order tells nothing that the rows don't.
    const unknown = (await list(client, '?sort=last_active_at')).items.slice(1)
    expect(unknown.map(({ email }) => email)).toEqual(
      seen.items.filter(({ email }) => email !== client.email).map(({ email }) => email),
    )
  }
  expect((await list(stranger)).total).toBe(1)
})

test('people are found by name, email, role and kind, page by page', async () => {
  const { admin, member } = cast
  expect((await list(admin, `?q=${encodeURIComponent(member.email.toUpperCase())}`)).items).toMatchObject([
    { email: member.email },
  ])
  expect((await list(admin, '?q=zoe_%25')).total).toBe(1)
  expect((await list(admin, '?q=o__')).total).toBe(0)
  expect((await list(admin, '?role=admin')).items).toMatchObject([{ email: admin.email }])
  expect((await list(admin, '?kind=service')).items).toMatchObject([{ kind: 'service' }])
  const names = (await list(admin)).items.map(({ email }) => email)
  const pages = await Promise.all([0, 2, 4].map((offset) => list(admin, `?limit=2&offset=${offset}`)))
  expect(pages.flatMap(({ items }) => items.map(({ email }) => email))).toEqual(names)
  expect(pages.map(({ total }) => total)).toEqual([6, 6, 6])
  expect((await list(admin, '?offset=100')).items).toEqual([])
  for (const sort of ['role', 'last_active_at', 'joined_at']) {
    const up = (await list(admin, `?sort=${sort}&kind=member`)).items.map((person) => person[sort])
    const down = (await list(admin, `?sort=-${sort}&kind=member`)).items.map((person) => person[sort])
    expect(down, sort).toEqual(up.toReversed())
  }
  expect((await list(admin, '?sort=kind')).items.map(({ kind }) => kind)).toEqual([
    'invitation',
    ...Array.from({ length: 4 }, () => 'member'),
    'service',
  ])
  for (const query of ['?q=%00', '?role=owner', '?kind=robot', '?sort=email', '?limit=0']) {
    expect((await admin.get(`/v1/organization/people${query}`)).status, query).toBe(422)
  }
})
