import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkUsage } from '../../../../src/features/metering/checks.ts'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { deploy, waitForStatus } from '../../../support/deployments.ts'
import { createCast } from '../../../support/organizations.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { settleTrusted } from '../../../support/settle.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/billing/usage'
const evening = new Date('2026-01-30T22:00:00.000Z')
let now = evening
const runtime = createScriptedRuntime(undefined, () => now)

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ runtime, clock: () => now, settings: { BILLING_TRIAL_CREDIT: '1000' } })
})
afterAll(() => server.close())
beforeEach(async () => {
  now = evening
  client = await registerClient(server.url)
})

/** Adds a request to a deployment, of its owner if `caller` is not given. */
async function addTokens(
  id: string,
  hour: string,
  input_tokens: number,
  caller: { user_id?: number; team_id?: number | null; processing_milliseconds?: number } = {},
): Promise<void> {
  const { db } = server.application
  const row = await db
    .selectFrom('deployments')
    .select(['organization_id', 'user_id'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  await db
    .insertInto('token_usage')
    .values({
      deployment_id: id,
      ...row,
      ...caller,
      model_name: 'berth-tiny',
      hour: new Date(hour),
      requests: 1,
      input_tokens,
      output_tokens: 0,
    })
    .execute()
}

function seconds(date: string, quantity: string, estimated_amount: string) {
  const dimensions = { instance_type: 'small', region: 'test-region' }
  return { date, meter: 'gpu_instance_seconds', unit: 'second', dimensions, quantity, estimated_amount }
}

describe('GET /v1/billing/usage', () => {
  test('sums all deployments by day, meter and dimensions, open spans up to now, sealed or not', async () => {
    const { id: first } = await deploy(client)
    await deploy(client)
    await addTokens(first, '2026-01-31T05:00:00Z', 12)
    now = new Date('2026-02-02T01:00:00.500Z')
    const expected = {
      from: '2026-01-30',
      to: '2026-02-02',
      currency: 'usd',
      items: [
        seconds('2026-01-30', '14400', '14.4'),
        seconds('2026-01-31', '172800', '172.8'),
        {
          date: '2026-01-31',
          meter: 'inference_input_tokens',
          unit: 'token',
          dimensions: { model_name: 'berth-tiny' },
          quantity: '12',
          estimated_amount: '0',
        },
        seconds('2026-02-01', '172800', '172.8'),
        seconds('2026-02-02', '7201', '7.201'),
      ],
    }
    for (const settled of [false, true]) {
      if (settled) await settleTrusted(server.application)
      const answer = await client.get(`${path}?from=2026-01-30&to=2026-02-02`)
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual(expected)
    }
    const { body: summary } = await client.get('/v1/billing/usage-summary')
    expect(summary.usage_totals[0].estimated_amount).toBe('180.001')
  })

  test('the summary counts deployments, and what they cost per hour now', async () => {
    const { id } = await deploy(client)
    const other = await deploy(client)
    const read = async () => {
      const { body } = await client.get('/v1/billing/usage-summary')
      const { active_deployments, running_deployments, active_resources, price_per_hour } = body
      return [active_deployments, running_deployments, active_resources, Number(price_per_hour)]
    }
    await client.patch(`/api/v1/model-deployments/${id}`, { max_instances: 3 })
    expect(await read()).toEqual([2, 2, 4, 7.2])
    await client.delete(`/api/v1/model-deployments/${other.id}`)
    await waitForStatus(client, other.id, 'terminated')
    expect(await read()).toEqual([1, 1, 3, 3.6])
  })

  test('defaults to the current period up to today; days without usage are omitted', async () => {
    await deploy(client)
    now = new Date('2026-02-02T01:00:00Z')
    const { body } = await client.get(path)
    expect(body).toEqual({
      from: '2026-02-01',
      to: '2026-02-02',
      currency: 'usd',
      items: [seconds('2026-02-01', '86400', '86.4'), seconds('2026-02-02', '3600', '3.6')],
    })
    expect((await client.get(`${path}?from=2026-01-30&to=2026-01-30`)).body.items).toEqual([
      seconds('2026-01-30', '7200', '7.2'),
    ])
    expect((await client.get(`${path}?from=2025-12-01&to=2026-01-29`)).body.items).toEqual([])
  })

  test('a new organization has no usage', async () => {
    expect((await client.get(path)).body).toEqual({
      from: '2026-01-01',
      to: '2026-01-30',
      currency: 'usd',
      items: [],
    })
  })

  test.each([
    'from=2026-01-02&to=2026-01-01',
    'from=2025-10-30&to=2026-01-30',
    'to=2027-01-01',
    'from=0000-01-01&to=9999-12-31',
  ])('%s is a 422 invalid_date_range', async (query) => {
    const answer = await client.get(`${path}?${query}`)
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid_date_range' } })
  })

  test.each([
    'from=yesterday',
    'from=2026-02-30',
    'to=2026-1-1',
    'from=',
    'to=%00',
    'from=2026-01-01T00:00:00Z',
  ])('%s is a 422 validation_failed', async (query) => {
    const answer = await client.get(`${path}?${query}`)
    expect(answer).toMatchObject({ status: 422, body: { code: 'validation_failed' } })
    expect(answer.body.errors[0]).toMatchObject({ location: 'query', field: query.split('=', 1)[0] })
  })

  test('accepts 92 days and the year 0', async () => {
    await deploy(client)
    for (const query of ['from=2025-10-31&to=2026-01-30', 'from=0000-01-01&to=0000-01-02']) {
      expect((await client.get(`${path}?${query}`)).status).toBe(200)
    }
  })

  test('group_by=member, deployment and model: rows of everybody for admins, their own for others', async () => {
    const { viewer, member, admin, superAdmin, stranger } = await createCast(server)
    const { body: own } = await member.get('/v1/auth/session')
    const { id: first } = await deploy(member)
    const { id: second } = await deploy(superAdmin)
    await addTokens(first, '2026-01-31T05:00:00Z', 12)
    now = new Date('2026-01-31T22:00:00Z')
    const read = async (by: Client, grouping: string) =>
      (await by.get(`${path}?from=2026-01-30&to=2026-01-31&group_by=${grouping}`)).body.items
    const measured = {
      meter: 'gpu_instance_seconds',
      unit: 'second',
      dimensions: { instance_type: 'small', region: 'test-region' },
      quantity: '86400',
      estimated_amount: '86.4',
    }
    const tokens = {
      meter: 'inference_input_tokens',
      unit: 'token',
      dimensions: { model_name: 'berth-tiny' },
      quantity: '12',
      estimated_amount: '0',
    }
    const people = await read(admin, 'member')
    expect(people).toHaveLength(3)
    const mine = { user_id: own.user.id, email: member.email }
    expect(people).toEqual(
      expect.arrayContaining([
        { ...mine, ...measured },
        { ...mine, ...tokens },
        { user_id: expect.any(Number), email: superAdmin.email, ...measured },
      ]),
    )
    expect(await read(member, 'member')).toEqual([
      { ...mine, ...measured },
      { ...mine, ...tokens },
    ])
    const model_name = 'berth-tiny'
    const ofFirst = { deployment_id: first, model_name }
    expect(await read(superAdmin, 'deployment')).toEqual(
      expect.arrayContaining([
        { ...ofFirst, ...measured },
        { ...ofFirst, ...tokens },
        { deployment_id: second, model_name, ...measured },
      ]),
    )
    expect(await read(member, 'deployment')).toEqual([
      { ...ofFirst, ...measured },
      { ...ofFirst, ...tokens },
    ])
    const twice = { ...measured, quantity: '172800', estimated_amount: '172.8' }
    expect(await read(admin, 'model')).toEqual([
      { model_name, ...twice },
      { model_name, ...tokens },
    ])
    for (const grouping of ['team', 'member', 'deployment', 'model']) {
      expect(await read(viewer, grouping)).toEqual([])
      expect(await read(stranger, grouping)).toEqual([])
    }
    const answer = await admin.get(`${path}?group_by=hour`)
    expect(answer).toMatchObject({ status: 422, body: { code: 'validation_failed' } })
  })

  test('a shared deployment: tokens and processing time belong to the callers, idle time to the owner, hour by hour', async () => {
    const { viewer, member, admin } = await createCast(server)
    const { id } = await deploy(member)
    const ids = await Promise.all(
      [viewer, member, admin].map(async (each) => (await each.get('/v1/auth/session')).body.user.id),
    )
    const [viewerId, memberId, adminId] = ids
    const work = (user_id: number, at: string, tokens: number, processing_milliseconds: number) =>
      addTokens(id, at, tokens, { user_id, processing_milliseconds })
    await work(viewerId, '2026-01-30T22:00:00Z', 12, 600_000)
    await work(adminId, '2026-01-30T22:00:00Z', 5, 1)
    // In the second hour, requests that ran at the same time add up to three hours: nothing is idle.
    await work(viewerId, '2026-01-30T23:00:00Z', 1, 3_600_000)
    await work(adminId, '2026-01-30T23:00:00Z', 1, 7_200_000)
    now = new Date('2026-01-31T00:00:00Z')
    const read = async (by: Client, grouping: string) => {
      const { items } = (await by.get(`${path}?from=2026-01-30&to=2026-01-30&group_by=${grouping}`)).body
      return items.map((item: any) => [
        item.user_id ?? item.deployment_id ?? item.model_name,
        item.meter,
        item.quantity,
      ])
    }
    const seconds = 'gpu_instance_seconds'
    const tokens = 'inference_input_tokens'
    const expected = [
      [viewerId, seconds, '1800'],
      [viewerId, tokens, '13'],
      [adminId, seconds, '2400.001'],
      [adminId, tokens, '6'],
      [memberId, seconds, '2999.999'],
    ]
    for (const settled of [false, true]) {
      if (settled) {
        now = new Date('2026-01-31T02:00:00Z')
        await settleTrusted(server.application)
      }
      const all = await read(admin, 'member')
      expect(all).toHaveLength(expected.length)
      expect(all).toEqual(expect.arrayContaining(expected))
      expect(await read(viewer, 'member')).toEqual(expected.slice(0, 2))
      expect(await read(member, 'deployment')).toEqual([[id, seconds, '2999.999']])
      expect(await read(viewer, 'model')).toEqual([
        ['berth-tiny', seconds, '1800'],
        ['berth-tiny', tokens, '13'],
      ])
      expect(await read(admin, 'deployment')).toEqual([
        [id, seconds, '7200'],
        [id, tokens, '19'],
      ])
    }
  })

  test('group_by=team: calls count for the team as of the request, idle time for that of the owner; who has two counts for the one that has access, or else the older', async () => {
    const { viewer, member, admin } = await createCast(server)
    const ids = await Promise.all(
      [viewer, member].map(async (each) => (await each.get('/v1/auth/session')).body.user.id),
    )
    const teams = '/v1/organization/teams'
    const add = async (name: string) => (await admin.post(teams, { name })).body.id
    const [older, younger] = [await add('Sales'), await add('Research')]
    const { id } = await deploy(member)
    const belong = (teamId: number, userId: number) =>
      admin.request('PUT', `${teams}/${teamId}/members/${userId}`)
    const share = (shared_with: unknown) => member.patch(`/api/v1/model-deployments/${id}`, { shared_with })
    const read = async (by = admin) => {
      const { items } = (await by.get(`${path}?from=2026-01-30&to=2026-01-30&group_by=team`)).body
      return items.map((item: any) => [item.team_id, item.team_name, item.meter, item.quantity])
    }
    const [seconds, tokens] = ['gpu_instance_seconds', 'inference_input_tokens']
    const work = (at: string, team_id: number | null, count: number, processing_milliseconds: number) =>
      addTokens(id, at, count, { user_id: ids[0], team_id, processing_milliseconds })
    await work('2026-01-30T22:00:00Z', null, 1, 60_000)
    now = new Date('2026-01-30T23:30:00Z')
    await settleTrusted(server.application)
    const before = [
      [null, null, seconds, '5400'],
      [null, null, tokens, '1'],
    ]
    expect(await read()).toEqual(before)
    for (const userId of ids) await belong(older, userId)
    await belong(younger, ids[1])
    expect(await read(), 'the sealed hour stays').toEqual([
      [older, 'Sales', seconds, '1800'],
      [null, null, seconds, '3600'],
      [null, null, tokens, '1'],
    ])
    await share({ teams: [younger], members: [] })
    await work('2026-01-30T23:00:00Z', older, 5, 600_000)
    await work('2026-01-30T23:00:00Z', null, 7, 1)
    const expected = [
      [younger, 'Research', seconds, '1199.999'],
      [older, 'Sales', seconds, '600'],
      [older, 'Sales', tokens, '5'],
      [null, null, seconds, '3600.001'],
      [null, null, tokens, '8'],
    ]
    expect(await read()).toEqual(expected)
    expect(await read(viewer)).toEqual([
      [older, 'Sales', seconds, '600'],
      [older, 'Sales', tokens, '5'],
      [null, null, seconds, '60.001'],
      [null, null, tokens, '8'],
    ])
    expect((await admin.delete(`${teams}/${older}`)).status).toBe(204)
    expect(await read(), 'a deleted team keeps its rows').toEqual(
      expected.map(([teamId, name, ...rest]) => [teamId, teamId === older ? null : name, ...rest]),
    )
  })

  test('Accept: text/csv: the same rows; a value that a spreadsheet would read as a formula is escaped', async () => {
    const person = await registerClient(server.url, { email: `=cmd-${Date.now()}@example.com` })
    await deploy(person)
    now = new Date('2026-01-30T23:00:00Z')
    const read = (grouping: string) =>
      fetch(`${server.url}${path}?from=2026-01-30&to=2026-01-30&group_by=${grouping}`, {
        headers: { cookie: person.cookie(), accept: 'text/csv' },
      })
    const response = await read('member')
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(response.headers.get('content-disposition')).toBe(
      'attachment; filename="usage-member-2026-01-30-2026-01-30.csv"',
    )
    const [head, row, ...rest] = (await response.text()).split('\r\n')
    expect(head).toBe('user_id,email,meter,unit,dimensions,quantity,estimated_amount,currency')
    const dimensions = '"{""instance_type"":""small"",""region"":""test-region""}"'
    expect(row).toMatch(/^\d+,'=cmd-/)
    expect(row).toContain(`,gpu_instance_seconds,second,${dimensions},3600,3.6,usd`)
    expect(rest).toEqual([''])
    const heads = await Promise.all(
      ['day', 'team', 'deployment', 'model'].map(async (grouping) =>
        (await (await read(grouping)).text()).split(',meter', 1),
      ),
    )
    expect(heads.flat()).toEqual(['date', 'team_id,team_name', 'deployment_id,model_name', 'model_name'])
  })

  test('401 without a session', async () => {
    expect((await createClient(server.url).get(path)).status).toBe(401)
  })
})

test('GET /v1/billing/anomalies: open anomalies of the organization, newest first, with their deployment; admins only', async () => {
  const { viewer, member, admin, superAdmin, stranger } = await createCast(server)
  const list = (by: Client) => by.get('/v1/billing/anomalies')
  expect((await list(superAdmin)).body).toEqual([])
  const { id } = await deploy(superAdmin)
  const { db } = server.application
  const seen = new Date('2026-01-30T23:00:00.000Z')
  now = seen
  await sql`UPDATE instance_spans SET ended_at = ${now}, reported_end_at = ${now} WHERE deployment_id = ${id}`.execute(
    db,
  )
  await checkUsage(server.application)
  now = new Date('2026-01-31T00:00:00.000Z')
  const { id: organizationId } = (await superAdmin.get('/v1/organization')).body
  const unsent = {
    kind: 'unsent_usage',
    find: async () => [{ organizationId, subject: 'x', message: 'Not reported.' }],
  }
  await checkUsage(server.application, [unsent])
  const expected = [
    {
      id: expect.any(Number),
      kind: 'unsent_usage',
      message: 'Not reported.',
      deployment_id: null,
      detected_at: now.toISOString(),
      last_seen_at: now.toISOString(),
    },
    {
      id: expect.any(Number),
      kind: 'missing_span',
      message: `Deployment ${id} is running, but its instance has no open span.`,
      deployment_id: id,
      detected_at: seen.toISOString(),
      last_seen_at: now.toISOString(),
    },
  ]
  for (const by of [admin, superAdmin]) {
    expect(await list(by)).toMatchObject({ status: 200, body: expected })
  }
  for (const by of [viewer, member]) expect((await list(by)).status).toBe(403)
  expect((await list(stranger)).body).toEqual([])
  expect((await viewer.get('/v1/billing/usage-summary')).body.open_anomalies).toBe(2)
  await sql`UPDATE instance_spans SET ended_at = NULL, reported_end_at = NULL WHERE deployment_id = ${id}`.execute(
    db,
  )
  await checkUsage(server.application, [{ kind: 'unsent_usage', find: async () => [] }])
  expect((await list(admin)).body).toEqual([])
})
