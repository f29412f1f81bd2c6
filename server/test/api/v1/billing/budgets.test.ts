import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkBudgets } from '../../../../src/features/billing/budgets/check-budgets.ts'
import { sleepOverBudget } from '../../../../src/features/deployments/changes/sleep-over-budget.ts'
import type { Client } from '../../../support/client.ts'
import { deploy, waitForStatus } from '../../../support/deployments.ts'
import { startMailServer } from '../../../support/mail.ts'
import type { MailServer } from '../../../support/mail.ts'
import { joinClient, registerProven } from '../../../support/organizations.ts'
import type { Account } from '../../../support/organizations.ts'
import { createScriptedRuntime, makeOffer } from '../../../support/scripted-runtime.ts'
import { createService, openService } from '../../../support/service-members.ts'
import { settleTrusted } from '../../../support/settle.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/billing/budgets'
const teams = '/v1/organization/teams'
const evening = new Date('2026-01-30T22:00:00.000Z')
const minute = 60_000
const hour = 60 * minute
let now = evening
/** An instance costs $0.001 a second: $0.06 a minute and $3.60 an hour. */
const runtime = createScriptedRuntime(undefined, () => now)

let mails: MailServer
let server: TestServer
let owner: Account
beforeAll(async () => {
  mails = await startMailServer()
  server = await startTestServer({
    runtime,
    clock: () => now,
    settings: { BILLING_TRIAL_CREDIT: '100000', MAIL_URL: mails.url },
  })
})
afterAll(async () => {
  await server.close()
  await mails.stop()
})
beforeEach(async () => {
  now = evening
  runtime.reset()
  owner = await registerProven(server)
})

function advance(milliseconds: number): void {
  now = new Date(now.getTime() + milliseconds)
}

async function addBudget(body: object) {
  const answer = await owner.post(path, { monthly_limit: '10', at_limit: 'block', ...body })
  expect(answer.status).toBe(200)
  return answer.body
}

async function findUserId(client: Client): Promise<number> {
  return (await client.get('/v1/auth/session')).body.user.id
}

/** Adds a team with these members, and returns its id. */
async function addTeam(by: Client, name: string, ...members: Client[]): Promise<number> {
  const { id } = (await by.post(teams, { name })).body
  for (const member of members) {
    const userId = await findUserId(member)
    expect((await by.request('PUT', `${teams}/${id}/members/${userId}`)).status).toBe(204)
  }
  return id
}

function requestDeployment(client: Client) {
  return client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
}

describe('/v1/billing/budgets', () => {
  test('a budget of the organization, a member and a deployment; oldest first; the same scope twice is a 409 budget_exists', async () => {
    const { id } = await deploy(owner)
    const userId = await findUserId(owner)
    const created = await addBudget({ scope: 'organization', monthly_limit: '0100.50' })
    expect(created).toEqual({
      id: expect.any(Number),
      managed_by: null,
      scope: 'organization',
      scope_id: null,
      scope_name: null,
      monthly_limit: '100.5',
      at_limit: 'block',
      spent: '0',
      forecast: '0',
      currency: 'usd',
      period_start: '2026-01-01T00:00:00.000Z',
      period_end: '2026-02-01T00:00:00.000Z',
      alerts: [],
      exhausted: false,
    })
    await addBudget({ scope: 'member', scope_id: userId, at_limit: 'notify' })
    await addBudget({ scope: 'deployment', scope_id: id })
    const { body } = await owner.get(path)
    expect(body.map((budget: { scope_id: unknown }) => budget.scope_id)).toEqual([null, userId, id])
    for (const scope of [
      { scope: 'organization' },
      { scope: 'member', scope_id: userId },
      { scope: 'deployment', scope_id: id },
    ]) {
      const again = await owner.post(path, { ...scope, monthly_limit: '1', at_limit: 'notify' })
      expect([again.status, again.body.code]).toEqual([409, 'budget_exists'])
    }
    expect((await owner.delete(`${path}/${created.id}`)).status).toBe(204)
    expect((await owner.delete(`${path}/${created.id}`)).status).toBe(404)
    expect((await owner.get(path)).body).toHaveLength(2)
  })

  test('GET /v1/billing/own-budgets: a member sees those of the organization, of themselves and of their deployments, and no others', async () => {
    const member = await joinClient(server, owner, 'member')
    const [userId, ownerId] = [await findUserId(member), await findUserId(owner)]
    const [own, foreign] = [await deploy(member), await deploy(owner)]
    await addBudget({ scope: 'organization' })
    await addBudget({ scope: 'member', scope_id: userId })
    await addBudget({ scope: 'member', scope_id: ownerId })
    await addBudget({ scope: 'deployment', scope_id: own.id })
    await addBudget({ scope: 'deployment', scope_id: foreign.id })
    const all = (await owner.get(path)).body
    const { body } = await member.get('/v1/billing/own-budgets')
    expect(body).toEqual([all[0], all[1], all[3]])
    const name = (await member.get('/v1/user/profile')).body.name
    expect(body.map((budget: { scope_name: unknown }) => budget.scope_name)).toEqual([
      null,
      name,
      'berth-tiny',
    ])
    expect((await member.get(path)).status).toBe(403)
    expect((await (await registerProven(server)).get('/v1/billing/own-budgets')).body).toEqual([])
  })

  test('a foreign or missing scope id, a bad limit and an unknown action are a 422', async () => {
    const stranger = await registerProven(server)
    const { id } = await deploy(stranger)
    const foreign = await addTeam(stranger, 'Research')
    const valid = { scope: 'organization', monthly_limit: '1', at_limit: 'notify' }
    for (const [field, change] of [
      ['scope_id', { scope: 'member', scope_id: await findUserId(stranger) }],
      ['scope_id', { scope: 'member' }],
      ['scope_id', { scope: 'deployment', scope_id: id }],
      ['scope_id', { scope: 'deployment', scope_id: 7 }],
      ['scope_id', { scope_id: 7 }],
      ['scope_id', { scope: 'team', scope_id: foreign }],
      ['scope_id', { scope: 'team' }],
      ['scope', { scope: 'moon' }],
      ['monthly_limit', { monthly_limit: '0.000000' }],
      ['monthly_limit', { monthly_limit: '-1' }],
      ['monthly_limit', { monthly_limit: '1e3' }],
      ['monthly_limit', { monthly_limit: '1234567890123' }],
      ['monthly_limit', { monthly_limit: '0.1234567' }],
      ['monthly_limit', { monthly_limit: 5 }],
      ['at_limit', { at_limit: 'stop' }],
    ] as const) {
      const { status, body } = await owner.post(path, { ...valid, ...change })
      expect([status, body.code, body.errors?.[0]?.field], JSON.stringify(change)).toEqual([
        422,
        'validation_failed',
        field,
      ])
    }
    expect((await owner.get(path)).body).toEqual([])
  })

  test('`spent` equals the usage summary, settled or not; `forecast` adds the rest of the period at the cost of the last 24 hours', async () => {
    const member = await joinClient(server, owner, 'member')
    const { id } = await deploy(owner)
    await deploy(member)
    await addBudget({ scope: 'organization' })
    await addBudget({ scope: 'member', scope_id: await findUserId(member) })
    await addBudget({ scope: 'deployment', scope_id: id })
    advance(90 * minute + 1)
    for (const settled of [false, true]) {
      if (settled) await settleTrusted(server.application)
      const summary = (await owner.get('/v1/billing/usage-summary')).body
      const [organization, ...others] = (await owner.get(path)).body
      expect(organization.spent).toBe(summary.usage_totals[0].estimated_amount)
      expect(organization.spent).toBe('10.800002')
      expect(others.map(({ spent }: { spent: string }) => spent)).toEqual(['5.400001', '5.400001'])
      // 24.5 hours less a millisecond are left.
      expect(organization.forecast).toBe('21.825004')
    }
    advance(10 * hour)
    expect((await owner.get(path)).body[0].spent).toBe('82.800002')
    advance(40 * hour)
    const [next] = (await owner.get(path)).body
    expect([next.period_start, next.spent]).toEqual(['2026-02-01T00:00:00.000Z', '183.600002'])
  })

  test('emails at 50, 80 and 100 percent go to the admins and the member, once each per period, also after a raise', async () => {
    const admin = await joinClient(server, owner, 'admin')
    const member = await joinClient(server, owner, 'member')
    const bystander = await joinClient(server, owner, 'member')
    await deploy(member)
    const { id } = await addBudget({
      scope: 'member',
      scope_id: await findUserId(member),
      at_limit: 'notify',
    })
    const subjects = ({ email }: Account) =>
      mails.received
        .filter(({ recipients, subject }) => recipients.includes(email) && subject?.includes('budget'))
        .map(({ subject }) => subject ?? '')
        .toSorted()
    const expectMails = async (...percents: number[]) => {
      await checkBudgets(server.application)
      await checkBudgets(server.application)
      const expected = percents.map((percent) => `${percent}% of a Berth budget is spent`).toSorted()
      for (const account of [owner, admin, member])
        await expect.poll(() => subjects(account)).toEqual(expected)
      expect(subjects(bystander)).toEqual([])
    }
    advance(1 * hour)
    await expectMails()
    advance(0.5 * hour)
    await expectMails(50)
    advance(2 * hour)
    await expectMails(50, 80, 100)
    const [{ alerts, exhausted }] = (await owner.get(path)).body
    expect(alerts.map(({ percent }: { percent: number }) => percent)).toEqual([50, 80, 100])
    expect(exhausted).toBe(true)
    await owner.patch(`${path}/${id}`, { monthly_limit: '15' })
    advance(2 * hour)
    await expectMails(50, 80, 100)
    // February: two and a half hours are within 80 percent of the limit.
    now = new Date('2026-02-01T02:30:00Z')
    await expectMails(50, 50, 80, 100)
  })

  test('of a member: counts and stops their requests to deployments of others, through a program too; nobody else’s', async () => {
    const { id } = await deploy(owner)
    await owner.patch(`/api/v1/model-deployments/${id}`, { shared_with: 'organization' })
    const [member, other] = [
      await joinClient(server, owner, 'viewer'),
      await joinClient(server, owner, 'viewer'),
    ]
    const program = await openService(server.url, await createService(owner, { may_name_members: true }))
    const userId = await findUserId(member)
    const { db } = server.application
    const { organization_id } = await db
      .selectFrom('deployments')
      .select('organization_id')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    await db
      .insertInto('token_usage')
      .values({
        deployment_id: id,
        organization_id,
        user_id: userId,
        model_name: 'berth-tiny',
        hour: now,
        requests: 1,
        input_tokens: 0,
        output_tokens: 0,
        processing_milliseconds: hour / 2,
      })
      .execute()
    advance(hour)
    const budget = await addBudget({ scope: 'member', scope_id: userId, monthly_limit: '1.8' })
    expect(budget).toMatchObject({ spent: '1.8', exhausted: true })
    expect((await addBudget({ scope: 'member', scope_id: await findUserId(other) })).spent).toBe('0')
    const ask = async (client: Client, name?: string) => {
      const headers = name === undefined ? {} : { 'x-berth-member': name }
      const body = { model: id, messages: [] }
      const answer = await client.request('POST', '/v1/chat/completions', body, headers)
      return answer.body.error.code
    }
    /** The engine can't be reached: who is not stopped gets this far. */
    const reached = 'upstream_unavailable'
    const askAll = () =>
      Promise.all([
        ask(member),
        ask(program, member.email),
        ask(other),
        ask(program, other.email),
        ask(program),
        ask(program, 'kai@example.org'),
        ask(owner),
      ])
    const stopped = ['insufficient_quota', 'insufficient_quota', ...Array.from({ length: 5 }, () => reached)]
    await checkBudgets(server.application)
    await expect.poll(askAll).toEqual(stopped)
    await owner.patch(`${path}/${budget.id}`, { monthly_limit: '1.9' })
    await checkBudgets(server.application)
    await expect.poll(askAll).toEqual(stopped.map(() => reached))
    await owner.patch(`${path}/${budget.id}`, { monthly_limit: '1.7' })
    await checkBudgets(server.application)
    await expect.poll(askAll).toEqual(stopped)
    await owner.patch(`${path}/${budget.id}`, { at_limit: 'notify' })
    await expect.poll(askAll).toEqual(stopped.map(() => reached))
    await owner.patch(`${path}/${budget.id}`, { at_limit: 'sleep' })
    await checkBudgets(server.application)
    await expect.poll(askAll).toEqual(stopped)
    now = new Date('2026-02-01T00:00:01.000Z')
    expect(await askAll(), 'a period later').toEqual(stopped.map(() => reached))
  })

  test('of a team: the name, whom it emails, and who sees it; the budget ends with the team', async () => {
    const [member, other] = [
      await joinClient(server, owner, 'member'),
      await joinClient(server, owner, 'member'),
    ]
    await createService(owner)
    const teamId = await addTeam(owner, 'Research', member)
    await deploy(member)
    const scope = { scope: 'team', scope_id: teamId }
    const budget = await addBudget({ ...scope, at_limit: 'notify' })
    expect(budget).toMatchObject({ ...scope, scope_name: 'Research', spent: '0' })
    const [entry] = (await owner.get('/v1/organization/audit-log')).body.items
    expect(entry).toMatchObject({ action: 'budget.created', target: { type: 'budget', name: 'Research' } })
    advance(90 * minute)
    // A check of the worker could come between the two lists.
    await checkBudgets(server.application)
    const body = (await owner.get(path)).body[0]
    expect(body).toMatchObject({ spent: '5.4', alerts: [{ percent: 50 }] })
    expect((await member.get('/v1/billing/own-budgets')).body).toEqual([body])
    expect((await other.get('/v1/billing/own-budgets')).body).toEqual([])
    const read = ({ email }: Account) =>
      mails.received.filter(
        ({ recipients, subject }) => recipients.includes(email) && subject?.includes('budget'),
      )
    for (const account of [owner, member]) await expect.poll(() => read(account)).toHaveLength(1)
    expect(read(member)[0]!.text).toContain('the budget of the team Research.')
    expect(read(other)).toEqual([])
    const again = await owner.post(path, { ...scope, monthly_limit: '1', at_limit: 'block' })
    expect([again.status, again.body.code]).toEqual([409, 'budget_exists'])
    expect((await owner.delete(`${teams}/${teamId}`)).status).toBe(204)
    expect((await owner.get(path)).body).toEqual([])
  })

  test('of a team: stops the deployments of its members, and what they call of others; who leaves it goes on', async () => {
    const { id } = await deploy(owner)
    const [member, other] = [
      await joinClient(server, owner, 'member'),
      await joinClient(server, owner, 'member'),
    ]
    const older = await addTeam(owner, 'Research', member)
    const younger = await addTeam(owner, 'Sales', member, other)
    const share = (shared_with: unknown) => owner.patch(`/api/v1/model-deployments/${id}`, { shared_with })
    await share('organization')
    const own = (await deploy(member)).id
    advance(hour)
    const ask = async (client: Client, model = id) =>
      (await client.post('/v1/chat/completions', { model, messages: [] })).body.error
    const askAll = async () => [(await ask(member)).code, (await ask(other)).code]
    const reached = 'upstream_unavailable'
    const budget = await addBudget({ scope: 'team', scope_id: older, monthly_limit: '3.6' })
    expect(budget).toMatchObject({ spent: '3.6', exhausted: true })
    expect((await addBudget({ scope: 'team', scope_id: younger, monthly_limit: '100' })).spent).toBe('0')
    const refused = await requestDeployment(member)
    expect([refused.status, refused.body.code]).toEqual([409, 'budget_exhausted'])
    expect(refused.body.detail).toContain(
      'The budget of this team is exhausted: 3.6 USD of 3.6 USD are spent',
    )
    expect((await requestDeployment(other)).status).toBe(201)
    await checkBudgets(server.application)
    await expect.poll(askAll).toEqual(['insufficient_quota', reached])
    expect((await ask(member)).message).toContain('The budget of your team is exhausted.')
    expect((await ask(member, own)).code, 'their own go on').toBe(reached)
    // Shared with the younger team, the calls are its usage.
    await share({ teams: [younger], members: [] })
    await expect.poll(askAll).toEqual([reached, reached])
    await share('organization')
    await expect.poll(askAll).toEqual(['insufficient_quota', reached])
    await owner.patch(`${path}/${budget.id}`, { monthly_limit: '100' })
    await expect.poll(askAll).toEqual([reached, reached])
    await owner.patch(`${path}/${budget.id}`, { monthly_limit: '1', at_limit: 'sleep' })
    await checkBudgets(server.application, (each) => sleepOverBudget(server.application, each))
    await expect.poll(askAll).toEqual(['insufficient_quota', reached])
    const asleep = await server.application.db
      .selectFrom('deployments')
      .select('id')
      .where('desired_state', '=', 'asleep')
      .where('id', 'in', [id, own])
      .execute()
    expect(asleep).toEqual([{ id: own }])
    await owner.delete(`${teams}/${older}/members/${await findUserId(member)}`)
    await expect.poll(askAll).toEqual([reached, reached])
    expect((await requestDeployment(member)).status).toBe(201)
  })

  test('`block`: creating a deployment in the scope is a 409 budget_exhausted that names by how much; a raise opens at once', async () => {
    const member = await joinClient(server, owner, 'member')
    await deploy(member)
    const budget = await addBudget({
      scope: 'member',
      scope_id: await findUserId(member),
      monthly_limit: '3.6',
    })
    advance(hour - minute)
    const tooSoon = await requestDeployment(member)
    expect([tooSoon.status, tooSoon.body.code]).toEqual([409, 'budget_exhausted'])
    expect(tooSoon.body.detail).toContain('3.54 USD of 3.6 USD are spent')
    expect(tooSoon.body.detail).toContain('would pass the limit by 0.06 USD')
    advance(minute + 500)
    const refused = await requestDeployment(member)
    expect(refused.body.detail).toContain('3.6005 USD of 3.6 USD are spent, 0.0005 USD more than its limit')
    expect((await requestDeployment(owner)).status).toBe(201)
    expect((await owner.patch(`${path}/${budget.id}`, { monthly_limit: '100' })).body.exhausted).toBe(false)
    expect((await requestDeployment(member)).status).toBe(201)
    await owner.patch(`${path}/${budget.id}`, { monthly_limit: '1' })
    expect((await requestDeployment(member)).status).toBe(409)
    await owner.patch(`${path}/${budget.id}`, { at_limit: 'notify' })
    expect((await requestDeployment(member)).status).toBe(201)
  })

  test('`block`: concurrent creations share what is left of the last minute, also before a worker has taken them up', async () => {
    runtime.answer({ provision: () => ({ outcome: 'pending', message: 'Waiting.' }) })
    // A minute of one instance
    await addBudget({ scope: 'organization', monthly_limit: '0.06' })
    const answers = await Promise.all(Array.from({ length: 6 }, () => requestDeployment(owner)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    for (const { body } of [
      ...answers.filter(({ status }) => status === 409),
      await requestDeployment(owner),
    ]) {
      expect(body.code).toBe('budget_exhausted')
      expect(body.detail).toContain('within a minute this start would pass the limit by 0.06 USD')
    }
    // The one that was allowed gets its instance.
    runtime.reset()
    const { body } = answers.find(({ status }) => status === 201)!
    await waitForStatus(owner, body.id, 'running')
  })

  test('`block`: an instance that the runtime has not given yet is not started after the limit', async () => {
    await deploy(owner)
    await addBudget({ scope: 'organization' })
    runtime.answer({ provision: () => ({ outcome: 'pending', message: 'Waiting.' }) })
    const { id } = (await requestDeployment(owner)).body
    await expect.poll(() => runtime.callsFor(id)).toContain('provision')
    advance(3 * hour)
    const failed = await waitForStatus(owner, id, 'failed')
    expect(failed.failure_reason).toMatch(
      /^budget_exhausted: The budget of the organization is exhausted: 10\.8/,
    )
    const { length } = runtime.callsFor(id).filter((name) => name === 'provision')
    runtime.reset()
    await expect.poll(() => runtime.callsFor(id)).toContain('release')
    expect(runtime.callsFor(id).filter((name) => name === 'provision')).toHaveLength(length)
  })

  test('`block`: a resize and a replacement after a loss are no starts; until a deployment serves, a resize is part of its start', async () => {
    const large = { gpuCount: 1, vendor: 'nvidia', computeCapability: 8.9, formats: ['pytorch'] } as const
    const listOffers = () => [
      makeOffer('l4-x1', { ...large, formats: ['pytorch'], memoryBytes: 20 * 2 ** 30 }),
      makeOffer('h100-x1', { ...large, formats: ['pytorch'], memoryBytes: 71 * 2 ** 30 }),
    ]
    const starting = () => ({ phase: 'starting', message: 'Loading.' }) as const
    const model = { model_name: 'qwen2.5-instruct', model_format: 'pytorch', model_size_in_billions: 7 }
    const request = async () => (await owner.post('/api/v1/model-deployments', model)).body.id
    const read = async (id: string) => (await owner.get(`/api/v1/model-deployments/${id}`)).body
    runtime.answer({ listOffers })
    const [resized, lost] = [await request(), await request()]
    await waitForStatus(owner, resized, 'running')
    await waitForStatus(owner, lost, 'running')
    runtime.answer({ ensureEngine: starting })
    const unserved = await request()
    await waitForStatus(owner, unserved, 'deploying')
    await addBudget({ scope: 'organization', monthly_limit: '1' })
    advance(3 * hour)
    expect((await owner.post('/api/v1/model-deployments', model)).body.code).toBe('budget_exhausted')

    const minimums = { min_parallel_sequences: 16 }
    for (const id of [resized, unserved]) {
      expect((await owner.patch(`/api/v1/model-deployments/${id}`, minimums)).status).toBe(200)
    }
    expect((await waitForStatus(owner, unserved, 'failed')).failure_reason).toMatch(/^budget_exhausted/)

    runtime.reset()
    // Both engines disappear once, with their instances.
    const gone = new Set([resized, lost])
    runtime.answer({
      listOffers,
      observeEngine: (id) =>
        gone.delete(id)
          ? { phase: 'absent', lostAt: now }
          : { phase: 'ready', endpoint: { baseUrl: 'http://127.0.0.1:9' } },
    })
    await expect
      .poll(async () => {
        const { status, selected_instance_type: type } = await read(resized)
        return [status, type]
      })
      .toEqual(['running', 'h100-x1'])
    await expect.poll(() => gone.size).toBe(0)
    const spansOf = (id: string) =>
      server.application.db
        .selectFrom('instance_spans')
        .select(['instance_type', 'ended_at'])
        .where('deployment_id', '=', id)
        .orderBy('id')
        .execute()
    await expect
      .poll(() => spansOf(lost))
      .toMatchObject([{ ended_at: now }, { instance_type: 'l4-x1', ended_at: null }])
    expect((await read(lost)).status).toBe('running')
    expect(await spansOf(resized)).toMatchObject([{ ended_at: now }, { ended_at: null }])
  })

  test('an instance that does not serve yet counts against the limit, although it is not billed yet', async () => {
    await addBudget({ scope: 'organization', monthly_limit: '0.2' })
    runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: 'Loading.' }) })
    await deploy(owner, 'berth-tiny', 'deploying')
    advance(2 * minute)
    const refused = await requestDeployment(owner)
    expect([refused.status, refused.body.code]).toEqual([409, 'budget_exhausted'])
    expect((await owner.get(path)).body[0].spent).toBe('0')
  })

  test('a member who leaves takes their budget along; transferred deployments count for the new owner', async () => {
    const member = await joinClient(server, owner, 'member')
    await deploy(member)
    const [from, to] = [await findUserId(member), await findUserId(owner)]
    await addBudget({ scope: 'member', scope_id: from })
    await addBudget({ scope: 'member', scope_id: to })
    advance(hour)
    const spent = async () => (await owner.get(path)).body.map((budget: { spent: string }) => budget.spent)
    expect(await spent()).toEqual(['3.6', '0'])
    const leaving = await member.post(`/v1/organization/leave?deployments=transfer&to=${to}`)
    expect(leaving.status).toBeLessThan(300)
    expect(await spent()).toEqual(['3.6'])
  })
})
