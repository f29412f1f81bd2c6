import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addTotals, floorTo } from '../../../../../src/features/statistics/store.ts'
import { deploy } from '../../../../support/deployments.ts'
import { createCast } from '../../../../support/organizations.ts'
import { createScriptedRuntime } from '../../../../support/scripted-runtime.ts'
import { writeSealedSeconds } from '../../../../support/sealed-usage.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const now = new Date('2026-03-10T10:30:00.000Z')
const hour = (date: string) => new Date(`2026-${date}:00:00.000Z`)

let server: TestServer
let cast: Awaited<ReturnType<typeof createCast>>
/** `busy` and `cheap` of the member; `foreign` of an admin, shared */
const ids = { busy: '', cheap: '', foreign: '', hidden: '' }
beforeAll(async () => {
  server = await startTestServer({ runtime: createScriptedRuntime('http://127.0.0.1:1'), clock: () => now })
  cast = await createCast(server)
  const { member, admin, stranger } = cast
  ids.cheap = (await deploy(member)).id
  ids.busy = (await deploy(member)).id
  ids.foreign = (await deploy(admin)).id
  ids.hidden = (await deploy(stranger)).id
  const shared = await admin.patch(`${path}/${ids.foreign}`, { shared_with: 'organization' })
  expect(shared.status).toBe(200)
  await spend(ids.busy, hour('03-01T00'), '200000')
  await spend(ids.busy, hour('02-28T23'), '900000')
  await spend(ids.foreign, hour('03-09T00'), '500000')
  await answer(ids.busy, hour('03-10T10'), 5)
  await answer(ids.busy, hour('03-09T11'), 2)
  await answer(ids.busy, hour('03-09T10'), 90)
  await answer(ids.foreign, hour('03-10T08'), 6)
  await answer(ids.cheap, hour('02-01T08'), 80)
})
afterAll(() => server.close())

/** Usage whose seconds cost $0.00001 */
async function spend(id: string, at: Date, quantity: string): Promise<void> {
  const { db } = server.application
  const { organization_id: organizationId } = await db
    .selectFrom('deployments')
    .select('organization_id')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  await writeSealedSeconds(db, { organizationId, deploymentId: id, hour: at, quantity, sealedAt: now })
}

/** Requests that ended in the 7th minute of an hour, each with 36 tokens of output */
async function answer(id: string, at: Date, requests: number): Promise<void> {
  const { db } = server.application
  const deployment = await db
    .selectFrom('deployments')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const tokens = { requests, input_tokens: 0, output_tokens: 36 * requests }
  await db
    .insertInto('token_usage')
    .values({
      deployment_id: id,
      organization_id: deployment.organization_id,
      user_id: deployment.user_id,
      model_name: deployment.model_name,
      hour: at,
      ...tokens,
    })
    .execute()
  const ended = new Date(at.getTime() + 7 * 60_000)
  for (const resolution of ['minute', 'hour'] as const) {
    await addTotals(db, resolution, [
      {
        deploymentId: id,
        at: floorTo(resolution, ended),
        requests,
        errors: 1,
        failedByStatus: {},
        callerLeft: 0,
        retries: 0,
        inputTokens: 0,
        outputTokens: 36 * requests,
        inFlightSeconds: 0,
        waitingSeconds: 0,
        firstByteBuckets: { 80: requests - 1, 100: 1 },
        durationBuckets: {},
      },
    ])
  }
}

const none = { requests: 0, errors: 0, first_token_p95_ms: null, tokens_per_second: Array(24).fill(0) }

test('GET …/summary: requests of 24 hours, cost of the month and last use, in the order of the ids', async () => {
  const { body, status } = await cast.member.get(`${path}/summary?ids=${ids.busy},${ids.cheap}`)
  expect(status).toBe(200)
  const series = Array(24).fill(0)
  series[0] = 0.02
  series[23] = 0.1
  expect(body.items).toEqual([
    {
      deployment_id: ids.busy,
      requests: 7,
      errors: 2,
      first_token_p95_ms: expect.any(Number),
      tokens_per_second: series,
      cost_this_month: '2',
      currency: 'usd',
      last_used_at: '2026-03-10T10:07:00.000Z',
    },
    {
      deployment_id: ids.cheap,
      ...none,
      cost_this_month: '0',
      currency: 'usd',
      last_used_at: '2026-02-01T08:00:00.000Z',
    },
  ])
  const [busy] = body.items
  expect(busy.first_token_p95_ms).toBeGreaterThan(200)
})

test('GET …/summary: a colleague sees no cost, an admin does, and nobody what is not theirs to see', async () => {
  const { member, admin, stranger, viewer } = cast
  const query = `${path}/summary?ids=${ids.foreign}&ids=${ids.hidden}&ids=${randomUUID()}&ids=${ids.busy}`
  const read = async (client: typeof member) => {
    const { body } = await client.get(query)
    return body.items.map((item: Record<string, unknown>) => [item.deployment_id, item.cost_this_month])
  }
  expect(await read(member)).toEqual([
    [ids.foreign, null],
    [ids.busy, '2'],
  ])
  expect(await read(admin)).toEqual([
    [ids.foreign, '5'],
    [ids.busy, '2'],
  ])
  expect(await read(viewer)).toEqual([[ids.foreign, null]])
  expect(await read(stranger)).toEqual([[ids.hidden, '0']])
})

test('GET …/summary: takes 1 to 100 ids', async () => {
  const many = (count: number) => Array.from({ length: count }, () => randomUUID()).join(',')
  expect((await cast.member.get(`${path}/summary?ids=${many(100)}`)).body).toEqual({ items: [] })
  for (const query of ['', '?ids=', '?ids=x', `?ids=${many(101)}`]) {
    expect((await cast.member.get(`${path}/summary${query}`)).status, query).toBe(422)
  }
})

test('lists are sorted by requests and cost, by which those of others without a visible cost come last', async () => {
  const { member, admin } = cast
  const list = async (client: typeof member, query: string) => {
    const { body } = await client.get(`${path}?${query}`)
    return body.items.map(({ id }: { id: string }) => id)
  }
  expect(await list(member, 'sort=-requests')).toEqual([ids.busy, ids.cheap])
  expect(await list(member, 'scope=callable&sort=requests')).toEqual([ids.cheap, ids.foreign, ids.busy])
  expect(await list(member, 'scope=callable&sort=-cost')).toEqual([ids.busy, ids.foreign, ids.cheap])
  expect(await list(admin, 'scope=organization&sort=-cost')).toEqual([ids.foreign, ids.busy, ids.cheap])
  expect(await list(member, 'sort=cost')).toEqual([ids.cheap, ids.busy])
})
