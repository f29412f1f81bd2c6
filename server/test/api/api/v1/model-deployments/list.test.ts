import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../../../support/client.ts'
import { deploy, waitForStatus } from '../../../../support/deployments.ts'
import { createCast } from '../../../../support/organizations.ts'
import { createScriptedRuntime } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'

let server: TestServer
let cast: Awaited<ReturnType<typeof createCast>>
/** Ids by what they are called here */
const ids = { named: '', plain: '', embedding: '', ended: '', colleague: '' }
beforeAll(async () => {
  server = await startTestServer({
    runtime: createScriptedRuntime('http://127.0.0.1:1'),
  })
  cast = await createCast(server)
  const { member, admin } = cast
  ids.named = (await deploy(member)).id
  await change(member, ids.named, { alias: 'Team_Chat' })
  ids.plain = (await deploy(member)).id
  ids.embedding = (await deploy(member, 'berth-tiny-embedding')).id
  ids.ended = (await deploy(member)).id
  await member.delete(`${path}/${ids.ended}`)
  await waitForStatus(member, ids.ended, 'terminated')
  ids.colleague = (await deploy(admin)).id
  await change(admin, ids.colleague, { alias: 'shared-chat', shared_with: 'organization' })
})
afterAll(() => server.close())

async function change(client: Client, id: string, body: object): Promise<void> {
  expect((await client.patch(`${path}/${id}`, body)).status).toBe(200)
}

async function list(client: Client, query: string): Promise<string[]> {
  const { status, body } = await client.get(`${path}?${query}`)
  expect(status, query).toBe(200)
  expect(body.total, query).toBe(body.items.length)
  return body.items.map(({ id }: { id: string }) => id)
}

test('a search finds aliases, models, owners and the starts of ids', async () => {
  const { member, admin } = cast
  expect(await list(member, 'q=team_c')).toEqual([ids.named])
  expect(await list(member, 'q=%20EMBED%20')).toEqual([ids.embedding])
  expect(await list(member, `q=${ids.plain.slice(0, 30)}`)).toContain(ids.plain)
  expect(await list(member, `q=${ids.plain}`)).toEqual([ids.plain])
  expect(await list(member, `q=DEP-${ids.plain}`)).toEqual([ids.plain])
  expect(await list(member, `q=${ids.plain.slice(1)}`)).toEqual([])
  expect(await list(member, `scope=callable&q=${encodeURIComponent(admin.email)}`)).toEqual([ids.colleague])
  expect(await list(member, `q=${encodeURIComponent(admin.email)}`)).toEqual([])
  expect(await list(member, 'q=')).toHaveLength(4)
})

test('signs of patterns in a search mean themselves', async () => {
  const { member } = cast
  expect(await list(member, 'q=team-chat')).toEqual([])
  for (const sign of ['%25', '_', '%5C', '%27', '%00']) {
    const found = await member.get(`${path}?q=${sign}`)
    expect(found.status, sign).toBe(sign === '%00' ? 422 : 200)
    expect(found.body.items ?? [], sign).toHaveLength(sign === '_' ? 1 : 0)
  }
  expect((await member.get(`${path}?q=${'a'.repeat(257)}`)).status).toBe(422)
})

test('filters by status and owner work together with the scope', async () => {
  const { member, admin, viewer } = cast
  expect(await list(member, 'status=terminated')).toEqual([ids.ended])
  expect(await list(member, 'status=terminated&status=running')).toHaveLength(4)
  expect(await list(member, 'status=terminated&active=true')).toEqual([])
  const owner = (await admin.get(`${path}/${ids.colleague}`)).body.user_id
  expect(await list(member, `scope=callable&owner=${owner}`)).toEqual([ids.colleague])
  expect(await list(viewer, `scope=organization&owner=${owner}`)).toEqual([ids.colleague])
  expect(await list(member, `owner=${owner}`)).toEqual([])
  for (const query of ['status=nowhere', 'owner=x', 'owner=0', 'sort=price', 'counts=maybe']) {
    expect((await member.get(`${path}?${query}`)).status, query).toBe(422)
  }
})

test('lists are sorted as asked, and from new to old by default', async () => {
  const { member } = cast
  const { ended, embedding, plain, named } = ids
  expect(await list(member, '')).toEqual([ended, embedding, plain, named])
  expect(await list(member, 'sort=created_at')).toEqual([named, plain, embedding, ended])
  expect(await list(member, 'sort=name')).toEqual([ended, plain, embedding, named])
  expect(await list(member, 'sort=-name')).toEqual([named, embedding, ended, plain])
  expect(await list(member, 'sort=-status')).toEqual([ended, embedding, plain, named])
  expect(await list(member, 'sort=status')).toEqual([embedding, plain, named, ended])
})

test('counts have every status of the list, whatever statuses it shows', async () => {
  const { member } = cast
  const { body } = await member.get(`${path}?status=terminated&counts=true&limit=1`)
  expect(body).toMatchObject({ total: 1, counts: { running: 3, terminated: 1 } })
  const found = await member.get(`${path}?q=embed&counts=true&scope=callable`)
  expect(found.body.counts).toEqual({ running: 1 })
  expect((await member.get(path)).body).not.toHaveProperty('counts')
})
