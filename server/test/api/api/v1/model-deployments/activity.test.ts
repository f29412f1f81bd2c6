import { afterAll, beforeAll, expect, test } from 'vitest'
import { deploy, waitForStatus } from '../../../../support/deployments.ts'
import { createCast } from '../../../../support/organizations.ts'
import { createScriptedRuntime } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const team = '?scope=organization'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ runtime: createScriptedRuntime() })
})
afterAll(() => server.close())

test('GET …/{id}/activity has changes with the person and the values before, newest first, and one line a sleep', async () => {
  const { member, admin, viewer } = await createCast(server)
  const { id } = await deploy(member)
  await deploy(admin)
  await admin.patch(`${path}/${id}${team}`, { idle_minutes: 30, alias: 'assistant' })
  await admin.patch(`${path}/${id}${team}`, { shared_with: 'organization' })
  await member.post(`${path}/${id}/sleep`)
  await waitForStatus(member, id, 'sleeping')
  const { status, body } = await viewer.get(`${path}/${id}/activity${team}`)
  expect(status).toBe(200)
  expect(body).toMatchObject({ total: 5, limit: 100, offset: 0 })
  const by = (name: string) => expect.stringContaining(name)
  const names = { member: await nameOf(member), admin: await nameOf(admin) }
  expect(body.items).toMatchObject([
    { by: names.member, transition: { type: 'sleep', cause: 'person' }, change: null },
    {
      by: names.admin,
      seconds: null,
      change: { before: { shared_with: null }, after: { shared_with: 'organization' } },
    },
    {
      by: names.admin,
      change: {
        before: { alias: null, idle_minutes: null },
        after: { alias: 'assistant', idle_minutes: 30 },
      },
    },
    { transition: { type: 'start' }, change: null },
    { message: by(names.member), by: null, seconds: null },
  ])
  const [asleep] = body.items
  const phases: { seconds: number }[] = asleep.transition.phases
  expect(asleep.seconds).toBeCloseTo(
    phases.reduce((sum, { seconds }) => sum + seconds, 0),
    3,
  )
  const page = await member.get(`${path}/${id}/activity?limit=2&offset=1`)
  expect(page.body.items.map(({ id: event }: { id: number }) => event)).toEqual(
    body.items.slice(1, 3).map(({ id: event }: { id: number }) => event),
  )
})

test('the audit log has the values before a change of a deployment', async () => {
  const { member, admin, superAdmin } = await createCast(server)
  const { id } = await deploy(member)
  await member.patch(`${path}/${id}`, { max_instances: 2, alias: 'helper', shared_with: 'organization' })
  const other = await deploy(admin)
  await superAdmin.patch(`${path}/${other.id}${team}`, { shared_with: 'organization', alias: 'helper' })
  const { items } = (await admin.get('/v1/organization/audit-log?action=deployment.updated')).body
  expect(items.map(({ details }: { details: unknown }) => details)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        max_instances: 2,
        before: { alias: null, shared_with: null, max_instances: 1 },
      }),
      expect.objectContaining({ deployment: id, alias: null, before: { alias: 'helper' } }),
    ]),
  )
  const [moved] = (await member.get(`${path}/${id}/activity`)).body.items
  expect(moved).toMatchObject({ change: { before: { alias: 'helper' }, after: { alias: null } } })
})

async function nameOf(client: { get: (path: string) => Promise<{ body: any }> }): Promise<string> {
  return (await client.get('/v1/auth/session')).body.user.name
}
