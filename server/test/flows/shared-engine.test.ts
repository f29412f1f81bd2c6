import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { joinClient } from '../support/organizations.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { watchAdmission } from '../support/watch-admission.ts'

const path = '/api/v1/model-deployments'
const alias = 'team/chat'

let server: TestServer
let members: Client[]
let id: string
let log: ReturnType<typeof watchAdmission>

beforeAll(async () => {
  server = await startTestServer({ settings: { ENGINE_MAX_SEQUENCES: '2' } })
  const owner = await registerClient(server.url)
  const others = ['viewer', 'member', 'member', 'admin'] as const
  members = [owner, ...(await Promise.all(others.map((role) => joinClient(server, owner, role))))]
  id = (await deploy(owner)).id
  const shared = await owner.patch(`${path}/${id}`, { shared_with: 'organization', alias })
  expect(shared.body).toMatchObject({ alias, parallel_sequences: 2 })
  log = watchAdmission(server)
}, 120_000)
afterAll(() => server?.close())

/** Sends a chat of so many tokens and resolves to its status when the answer is complete. */
async function chat(
  client: Client,
  model: string,
  max_tokens: number,
  signal?: AbortSignal,
): Promise<number> {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { cookie: client.cookie(), 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream: true,
      max_tokens,
      // An answer that does not end by itself
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'numbers',
          schema: { type: 'array', items: { type: 'integer' }, minItems: 1000 },
        },
      },
      messages: [{ role: 'user', content: 'Tell me a long story about a berth.' }],
    }),
    ...(signal && { signal }),
  })
  await response.text()
  return response.status
}

const idOf = async (client: Client): Promise<number> => (await client.get('/v1/auth/session')).body.user.id

test('five members call one deployment by id, uid, alias and name', async () => {
  const answers = members.flatMap((member) =>
    [id, `dep-${id}`, alias, 'berth-tiny'].map((model) => chat(member, model, 2)),
  )
  expect(new Set(await Promise.all(answers))).toEqual(new Set([200]))
  const { inference } = server.application
  await inference.statistics.flush()
  const { body } = await members[0]!.get(`${path}/${id}/statistics`)
  expect(body.members.map(({ requests }: { requests: number }) => requests)).toEqual([4, 4, 4, 4, 4])
})

test('a flood of one member delays the next request of each other member by at most one request of each', async () => {
  const { admission } = server.application.inference
  const [flooder, ...others] = members as [Client, ...Client[]]
  const leaving = new AbortController()
  log.length = 0
  const flood = Promise.allSettled(Array.from({ length: 60 }, () => chat(flooder, id, 60, leaving.signal)))
  await vi.waitFor(() => expect(admission.queued).toBeGreaterThan(40), 20_000)
  expect(admission.inFlightByDeployment.get(id)).toBe(2)
  const statuses = await Promise.all(
    others.map(async (member) => [
      await chat(member, alias, 5),
      await chat(member, 'berth-tiny', 5),
      await chat(member, id, 5),
    ]),
  )
  expect(new Set(statuses.flat())).toEqual(new Set([200]))
  expect(admission.queued, 'the flood goes on').toBeGreaterThan(10)
  const users = await Promise.all(members.map(idOf))
  const own = log.filter(({ event, userId }) => event === 'arrived' && userId !== users[0])
  expect(own).toHaveLength(12)
  for (const { request, userId } of own) {
    const events = log.slice(
      log.findIndex((each) => each.request === request),
      log.findIndex((each) => each.event === 'sent' && each.request === request),
    )
    const sent = events.filter(({ event }) => event === 'sent').map((each) => each.userId)
    for (const other of users.filter((each) => each !== userId)) {
      expect(sent.filter((each) => each === other).length).toBeLessThanOrEqual(1)
    }
  }
  leaving.abort()
  await flood
  await vi.waitFor(() => expect([admission.queued, admission.inFlight.total]).toEqual([0, 0]), 20_000)
}, 120_000)

test('revocation ends a member’s stream and a request that waits for its turn; the owner’s stream goes on', async () => {
  const { admission } = server.application.inference
  const [owner, colleague] = members as [Client, Client]
  const leaving = new AbortController()
  const own = chat(owner, id, 4_000, leaving.signal).catch(() => 'left')
  const stream = chat(colleague, alias, 4_000).catch(() => 'ended')
  await vi.waitFor(() => expect(admission.inFlightByDeployment.get(id)).toBe(2), 20_000)
  const waits = chat(colleague, alias, 5)
  await vi.waitFor(() => expect(admission.queued).toBe(1), 20_000)
  expect((await owner.patch(`${path}/${id}`, { shared_with: null })).status).toBe(200)
  expect(await stream).toBe('ended')
  expect(await waits).toBe(404)
  expect(admission.inFlightByDeployment.get(id)).toBe(1)
  leaving.abort()
  expect(await own).toBe('left')
}, 60_000)
