// The name of the file of `berth apply` that made something.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { startHubServer } from '../support/hub/hub-server.ts'
import type { HubServer } from '../support/hub/hub-server.ts'
import { makeRepositories } from '../support/hub/test-repositories.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let hub: HubServer
let server: TestServer
let client: Client
beforeAll(async () => {
  hub = await startHubServer(makeRepositories())
  server = await startTestServer({ worker: false, settings: { HF_ENDPOINT: hub.origin } })
  client = await registerClient(server.url)
})
afterAll(async () => {
  await server.close()
  await hub.close()
})

const deployments = '/api/v1/model-deployments'
const creations = [
  [deployments, () => ({ model_name: 'berth-tiny' })],
  ['/api/v1/deployable-models', (name: string) => ({ huggingface: 'acme/Small-GGUF', model_name: name })],
  ['/v1/organization/teams', (name: string) => ({ name })],
  [
    '/v1/billing/budgets',
    (name: string, number: number) => ({
      ...(number === 0 ? { scope: 'organization' } : { scope: 'deployment', scope_id: name }),
      monthly_limit: '5',
      at_limit: 'notify',
    }),
  ],
] as const

test.each(creations)('POST %s keeps managed_by, and lists show it; null without it', async (path, make) => {
  const names = ['first', (await client.post(deployments, { model_name: 'berth-tiny' })).body.id]
  for (const [number, managed_by] of ['platform', undefined].entries()) {
    const body = { ...make(names[number], number), managed_by }
    const { status, body: made } = await client.post(path, body)
    expect(status, JSON.stringify(made)).toBeLessThan(300)
    expect(made.managed_by).toBe(managed_by ?? null)
    const { body: listed } = await client.get(path)
    const found = (listed.items ?? listed).find(({ id }: { id: unknown }) => id === made.id)
    expect(found.managed_by).toBe(managed_by ?? null)
  }
  for (const managed_by of ['', 'x'.repeat(101), 7]) {
    const refused = await client.post(path, { ...make('third', 0), managed_by })
    expect([refused.status, refused.body.errors?.[0]?.field]).toEqual([422, 'managed_by'])
  }
})

test('PATCH …/{id}: managed_by changes and ends, with an event, a change in the activity, and an audit entry', async () => {
  const { body: made } = await client.post(deployments, { model_name: 'berth-tiny', managed_by: 'platform' })
  const path = `${deployments}/${made.id}`
  expect((await client.patch(path, { managed_by: 'web' })).body.managed_by).toBe('web')
  expect((await client.patch(path, { alias: 'kept' })).body.managed_by).toBe('web')
  expect((await client.patch(path, { managed_by: null })).body.managed_by).toBeNull()
  const messages = (await client.get(`${path}/events`)).body.items.map(
    ({ message }: { message: string }) => message,
  )
  expect(messages).toContain('The file web of `berth apply` manages the deployment from now on.')
  expect(messages.at(-1)).toBe('No file of `berth apply` manages the deployment anymore.')
  const [last] = (await client.get(`${path}/activity`)).body.items
  expect(last.change).toMatchObject({ before: { managed_by: 'web' }, after: { managed_by: null } })
  const { items } = (await client.get('/v1/organization/audit-log')).body
  expect(items[0]).toMatchObject({ action: 'deployment.updated', details: { managed_by: null } })
  expect(items.findLast(({ target }: any) => target?.id === made.id)).toMatchObject({
    action: 'deployment.created',
    details: { managed_by: 'platform' },
  })
})

test('managed_name says which deployment of a file it is, and ends with managed_by', async () => {
  const managed = { managed_by: 'platform', managed_name: 'small' }
  const { body: made } = await client.post(deployments, { model_name: 'berth-tiny', ...managed })
  const path = `${deployments}/${made.id}`
  expect(made).toMatchObject(managed)
  expect((await client.get(path)).body).toMatchObject(managed)
  expect((await client.patch(path, { managed_name: 'tiny' })).body.managed_name).toBe('tiny')
  const [last] = (await client.get(`${path}/activity`)).body.items
  expect(last.change).toMatchObject({ before: { managed_name: 'small' }, after: { managed_name: 'tiny' } })
  const { items } = (await client.get('/v1/organization/audit-log')).body
  expect(items.slice(0, 2)).toMatchObject([
    { action: 'deployment.updated', details: { managed_name: 'tiny', before: { managed_name: 'small' } } },
    { action: 'deployment.created', details: managed },
  ])
  expect((await client.patch(path, { managed_by: null })).body).toMatchObject({
    managed_by: null,
    managed_name: null,
  })
  for (const refused of [
    await client.patch(path, { managed_name: 'small' }),
    await client.post(deployments, { model_name: 'berth-tiny', managed_name: 'small' }),
    await client.patch(path, { managed_by: 'platform', managed_name: '' }),
    await client.patch(path, { managed_by: 'platform', managed_name: 'x'.repeat(129) }),
  ])
    expect([refused.status, refused.body.errors?.[0]?.field]).toEqual([422, 'managed_name'])
})
