import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { holdNames } from '../../src/features/catalog/hold-names.ts'
import type { Client } from '../support/client.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { createCast, joinClient } from '../support/organizations.ts'
import { startAnsweringServer } from '../support/recording-engine.ts'
import type { TestServer } from '../support/server.ts'

const path = '/api/v1/model-deployments'
let close: () => Promise<void>
let server: TestServer
beforeAll(async () => {
  ;({ server, close } = await startAnsweringServer())
})
afterAll(() => close())

/** Alice and Bob are members with a deployment each. */
async function setUp() {
  const cast = await createCast(server)
  const alice = cast.member
  const bob = await joinClient(server, cast.admin, 'member')
  return { ...cast, alice, bob, hers: (await deploy(alice)).id, his: (await deploy(bob)).id }
}

const change = (by: Client, id: string, body: object) => by.patch(`${path}/${id}?scope=organization`, body)

const share = (by: Client, id: string, alias: string) =>
  change(by, id, { shared_with: 'organization', alias })

const reached = async (by: Client, name: string) => (await by.get(`/v1/models/${name}`)).body.deployments

const taken = { status: 409, body: { code: 'alias_taken' } }

test('the alias of a shared deployment is its first owner’s, whichever way a colleague gets it', async () => {
  const { alice, bob, viewer, hers, his } = await setUp()
  expect((await share(alice, hers, 'assistant')).status).toBe(200)
  expect(await share(bob, his, 'assistant')).toMatchObject(taken)
  expect((await change(bob, his, { alias: 'assistant' })).status, 'for himself').toBe(200)
  expect(await change(bob, his, { shared_with: 'organization' })).toMatchObject(taken)
  expect(await reached(viewer, 'assistant')).toEqual([hers])
  const second = (await deploy(alice)).id
  expect((await share(alice, second, 'assistant')).status, 'of the same owner').toBe(200)
  await alice.delete(`${path}/${hers}`)
  await alice.delete(`${path}/${second}`)
  await waitForStatus(alice, second, 'terminated')
  expect((await change(bob, his, { shared_with: 'organization' })).status, 'free again').toBe(200)
})

test('a deployment is born with its alias, or not at all', async () => {
  const { member, admin } = await createCast(server)
  const create = (alias: unknown) => member.post(path, { model_name: 'berth-tiny', alias })
  const created = await create('first-name')
  expect(created).toMatchObject({ status: 201, body: { alias: 'first-name' } })
  await waitForStatus(member, created.body.id, 'running')
  expect(await reached(member, 'first-name')).toEqual([created.body.id])
  const { items } = (await admin.get('/v1/organization/audit-log?action=deployment.created')).body
  expect(items[0]).toMatchObject({ target: { name: 'first-name' }, details: { model: 'berth-tiny' } })
  for (const name of ['berth-tiny-embedding', created.body.id, created.body.inference_model_uid]) {
    expect(await create(name), name).toMatchObject(taken)
  }
  expect((await create('two words')).status).toBe(422)
  expect((await create(null)).status).toBe(201)
  expect((await member.get(path)).body.total).toBe(2)
})

test('of two owners who share an alias at once, one gets it', async () => {
  const { alice, bob, hers, his } = await setUp()
  const answers = await Promise.all([share(alice, hers, 'assistant'), share(bob, his, 'assistant')])
  expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 409])
})

test('an admin moves an alias while its owner changes it: neither waits for the other', async () => {
  const { alice, admin, hers, his } = await setUp()
  await share(alice, hers, 'assistant')
  const { db } = server.application
  const countWaiting = async () => {
    const { rows } = await sql`
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(
      db,
    )
    return rows.length
  }
  const { organization_id: organizationId } = await db
    .selectFrom('deployments')
    .select('organization_id')
    .where('id', '=', hers)
    .executeTakeFirstOrThrow()
  const changes = await db.transaction().execute(async (transaction) => {
    await holdNames(transaction, organizationId)
    const moving = share(admin, his, 'assistant')
    await expect.poll(countWaiting).toBe(1)
    const renaming = change(alice, hers, { alias: 'helper' })
    await expect.poll(countWaiting).toBe(2)
    return [moving, renaming]
  })
  expect((await Promise.all(changes)).map(({ status }) => status)).toEqual([200, 200])
})

test('an admin moves an alias, which is in the audit log with the owner', async () => {
  const { alice, admin, viewer, hers, his } = await setUp()
  await share(alice, hers, 'assistant')
  expect((await share(admin, his, 'assistant')).status).toBe(200)
  expect((await alice.get(`${path}/${hers}`)).body.alias).toBeNull()
  expect(await reached(viewer, 'assistant')).toEqual([his])
  const { items } = (await admin.get('/v1/organization/audit-log?action=deployment.updated')).body
  expect(items).toContainEqual(
    expect.objectContaining({
      target: expect.objectContaining({ type: 'user', name: alice.email }),
      details: expect.objectContaining({ deployment: hers, alias: null }),
    }),
  )
})

test('no alias is a name of another model or deployment, also after its end', async () => {
  const { alice, bob, hers, his } = await setUp()
  const others = ['qwen2.5-instruct', 'QWEN2.5-Instruct', hers, `dep-${hers}`, `DEP-${hers}`, randomUUID()]
  for (const alias of others) expect(await change(bob, his, { alias }), alias).toMatchObject(taken)
  expect((await change(bob, his, { alias: 'berth-tiny' })).status, 'his model').toBe(200)
  await alice.delete(`${path}/${hers}`)
  await waitForStatus(alice, hers, 'terminated')
  for (const alias of [hers, `dep-${hers}`]) {
    expect(await change(bob, his, { alias }), alias).toMatchObject(taken)
  }
})

test('no alias is the name of a LoRA of a deployment, also after its end', async () => {
  const { alice, bob, hers, his } = await setUp()
  const lora = { modelId: 'x', modelName: 'ships', format: 'gguf_lora', rank: 8, weightBytes: 1, weights: {} }
  const { db } = server.application
  const changes = { adapters: JSON.stringify([lora]), alias: 'assistant' }
  await db.updateTable('deployments').set(changes).where('id', '=', hers).execute()
  await alice.delete(`${path}/${hers}`)
  await waitForStatus(alice, hers, 'terminated')
  for (const alias of ['berth-tiny:ships', 'assistant:ships']) {
    expect(await change(bob, his, { alias }), alias).toMatchObject(taken)
  }
  expect((await change(bob, his, { alias: 'assistant:boats' })).status).toBe(200)
})

test('a transfer carries an alias only if it was shared and takes nothing from the recipient', async () => {
  const { alice, bob, admin, hers, his } = await setUp()
  const shared = (await deploy(bob)).id
  const doubled = (await deploy(bob)).id
  await change(bob, his, { alias: 'private' })
  await share(bob, shared, 'known')
  await share(bob, doubled, 'mine')
  for (const id of [shared, doubled]) await change(bob, id, { alias_order: 3 })
  await change(alice, hers, { alias: 'mine' })
  const { user } = (await alice.get('/v1/auth/session')).body
  const leaving = await bob.post(`/v1/organization/leave?deployments=transfer&to=${user.id}`)
  expect(leaving.status).toBe(204)
  const aliases = await Promise.all(
    [his, shared, doubled].map(async (id) => (await change(admin, id, {})).body),
  )
  expect(aliases.map(({ alias, alias_order: order }) => [alias, order])).toEqual([
    [null, null],
    ['known', 3],
    [null, null],
  ])
})

test('GET /v1/models says which deployments a name does not reach', async () => {
  const { alice, viewer, admin, hers, his } = await setUp()
  await share(alice, hers, 'assistant')
  const list = async (by: Client) =>
    Object.fromEntries(
      (await by.get('/v1/models')).body.data.map((model: any) => [model.id, model.shadowed_deployments]),
    )
  expect(await list(viewer)).toEqual({ 'berth-tiny': [], assistant: [] })
  const { id: own } = await deploy(admin)
  await change(admin, own, { alias: 'assistant' })
  expect((await change(admin, his, { shared_with: 'organization' })).status).toBe(200)
  const shadowed = await list(admin)
  expect(shadowed.assistant).toEqual([hers])
  expect(shadowed['berth-tiny'].toSorted()).toEqual([hers, his].toSorted())
})
