import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { permissions } from '../../../src/base/roles.ts'
import { createClient, registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { createCast } from '../../support/organizations.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

let server: TestServer
let cast: Awaited<ReturnType<typeof createCast>>
beforeAll(async () => {
  server = await startTestServer({ worker: false })
  cast = await createCast(server, 'Difference Engines')
})
afterAll(() => server.close())

let owner: Client
beforeEach(async () => {
  owner = await registerClient(server.url, { organization: 'Loom & Sons' })
})

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

test('GET /v1/organization: returns the current organization with the caller’s role', async () => {
  const answer = await owner.get('/v1/organization')
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    id: expect.any(Number),
    name: 'Loom & Sons',
    slug: expect.stringMatching(/^loom-and-sons(-[0-9a-f]{8})?$/),
    description: null,
    status: 'active',
    requires_second_factor: false,
    allow_external: true,
    role: 'super_admin',
    permissions: Object.keys(permissions),
    created_at: timestamp,
    updated_at: timestamp,
  })
})

test('GET /v1/organization: every role can read it and sees its own role', async () => {
  const { superAdmin, admin, member, viewer, stranger } = cast
  const bodies = []
  for (const client of [superAdmin, admin, member, viewer]) {
    bodies.push((await client.get('/v1/organization')).body)
  }
  expect(bodies.map(({ role }) => role)).toEqual(['super_admin', 'admin', 'member', 'viewer'])
  expect(bodies.map((body) => body.permissions.includes('manageBilling'))).toEqual([true, true, false, false])
  expect(bodies.map((body) => body.permissions.includes('createDeployments'))).toEqual([
    true,
    true,
    true,
    false,
  ])
  expect(new Set(bodies.map(({ id }) => id)).size).toBe(1)
  expect((await stranger.get('/v1/organization')).body).toMatchObject({ name: 'Elsewhere' })
})

test.each(['GET', 'PATCH'])('%s /v1/organization: 401 without a session', async (method) => {
  const answer = await createClient(server.url).request(method, '/v1/organization')
  expect(answer.status).toBe(401)
  expect(answer.body.code).toBe('not_authenticated')
})

test('PATCH /v1/organization: 403 for viewers and members, even with an invalid body', async () => {
  for (const client of [cast.viewer, cast.member]) {
    for (const body of [{ name: 'Mine' }, { name: '' }, 'no json', undefined]) {
      const answer = await client.patch('/v1/organization', body)
      expect(answer.status).toBe(403)
      expect(answer.body.code).toBe('forbidden')
    }
  }
  expect((await cast.viewer.get('/v1/organization')).body.name).toBe('Difference Engines')
})

test('PATCH /v1/organization: an admin changes it for all members and changes no other organization', async () => {
  const answer = await cast.admin.patch('/v1/organization', { name: 'Analytical Engines' })
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ name: 'Analytical Engines', role: 'admin' })
  expect((await cast.viewer.get('/v1/organization')).body.name).toBe('Analytical Engines')
  expect((await cast.member.get('/v1/auth/session')).body.user.organization).toBe('Analytical Engines')
  expect((await cast.stranger.get('/v1/organization')).body.name).toBe('Elsewhere')
})

test('PATCH /v1/organization: trims name and description, keeps the slug and moves updated_at', async () => {
  const before = (await owner.get('/v1/organization')).body
  const answer = await owner.patch('/v1/organization', { name: '  Mill ', description: ' Two\nlines ' })
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({ ...before, name: 'Mill', description: 'Two\nlines', updated_at: timestamp })
  expect(Date.parse(answer.body.updated_at)).toBeGreaterThan(Date.parse(before.updated_at))
  expect((await owner.get('/v1/organization')).body).toEqual(answer.body)
})

test('PATCH /v1/organization: omitted fields stay; a null description clears it', async () => {
  await owner.patch('/v1/organization', { description: 'Weavers' })
  const renamed = await owner.patch('/v1/organization', { name: 'Mill' })
  expect(renamed.body).toMatchObject({ name: 'Mill', description: 'Weavers' })
  const cleared = await owner.patch('/v1/organization', { description: null })
  expect(cleared.body).toMatchObject({ name: 'Mill', description: null })
})

test.each([
  ['an empty body', {}],
  ['only unknown fields', { slug: 'other', id: 1, status: 'closed', role: 'viewer', updated_at: 'now' }],
  ['the current values', { name: ' Loom & Sons', description: null }],
])('PATCH /v1/organization: %s changes nothing, not even updated_at', async (_what, body) => {
  const before = (await owner.get('/v1/organization')).body
  const answer = await owner.patch('/v1/organization', body)
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual(before)
  expect((await owner.get('/v1/organization')).body).toEqual(before)
})

test.each([
  ['a name of 255 characters', { name: 'n'.repeat(255) }],
  ['a name of 255 emoji', { name: '🚢'.repeat(255) }],
  ['a description of 2000 emoji', { description: '🚢'.repeat(2000) }],
  ['an empty description', { description: '' }],
])('PATCH /v1/organization: accepts %s', async (_what, body) => {
  const answer = await owner.patch('/v1/organization', body)
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject(body)
})

test.each([
  ['an empty name', 'name', ''],
  ['a blank name', 'name', ' \t\n '],
  ['a null name', 'name', null],
  ['a number as name', 'name', 7],
  ['a name of 256 characters', 'name', 'n'.repeat(256)],
  ['a name of 256 emoji', 'name', '🚢'.repeat(256)],
  ['a name with NUL', 'name', 'a\0b'],
  ['a name with a lone surrogate', 'name', 'a\ud83d'],
  ['a description of 10001 characters', 'description', 'd'.repeat(10_001)],
  ['a description with NUL', 'description', 'a\0b'],
  ['an object as description', 'description', {}],
])('PATCH /v1/organization: %s is a 422', async (_what, field, value) => {
  const answer = await owner.patch('/v1/organization', { [field]: value })
  expect(answer.status).toBe(422)
  expect(answer.body).toMatchObject({ code: 'validation_failed', errors: [{ location: 'body', field }] })
})

test.each([
  ['malformed JSON', '{"name":', 400],
  ['a list', [], 422],
  ['null', 'null', 422],
])('PATCH /v1/organization: %s is refused', async (_what, body, status) => {
  expect((await owner.patch('/v1/organization', body)).status).toBe(status)
})

test('PATCH /v1/organization: two organizations can have the same name', async () => {
  const other = await registerClient(server.url, { organization: 'Other' })
  expect((await other.patch('/v1/organization', { name: 'Loom & Sons' })).status).toBe(200)
  const slugs = [owner, other].map(async (client) => (await client.get('/v1/organization')).body.slug)
  expect(new Set(await Promise.all(slugs)).size).toBe(2)
})
