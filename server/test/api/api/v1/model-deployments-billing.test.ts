import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { publishSandboxPrices } from '../../../../src/features/billing/processor/publish-prices.ts'
import type { AccountStatus } from '../../../../src/features/billing/account/account-state.ts'
import { activate } from '../../../support/billing.ts'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { createTestClock, hour } from '../../../support/clock.ts'
import { waitForStatus } from '../../../support/deployments.ts'
import { joinClient } from '../../../support/organizations.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/model-deployments'
const deploy = (client: Client, model = 'berth-tiny') => client.post(path, { model_name: model })

/** The default limits: two deployments and a credit of 10.00 in a trial. */
const defaults = { BILLING_TRIAL_MAX_ACTIVE: '2' }

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false, settings: defaults })
  await publishSandboxPrices(server.application)
})
afterAll(() => server.close())

async function setStatus(client: Client, status: AccountStatus): Promise<void> {
  const { body } = await client.get('/v1/billing/account')
  await server.application.db
    .updateTable('billing_accounts')
    .set({ status })
    .where('id', '=', body.id)
    .execute()
}

describe('resource_limit_reached', () => {
  test('POST /api/v1/model-deployments: a trial allows so many deployments at a time, the next is a 409', async () => {
    const client = await registerClient(server.url)
    for (const status of [201, 201, 409]) expect((await deploy(client)).status).toBe(status)
    expect((await deploy(client)).body).toMatchObject({
      status: 409,
      code: 'resource_limit_reached',
      detail: expect.stringMatching(/Delete a deployment/),
    })
    expect((await client.get(path)).body.total).toBe(2)
  })

  test('the limit applies to the organization, not to the member', async () => {
    const admin = await registerClient(server.url)
    const member = await joinClient(server, admin, 'member')
    expect((await deploy(admin)).status).toBe(201)
    expect((await deploy(member)).status).toBe(201)
    expect((await deploy(admin)).body.code).toBe('resource_limit_reached')
    expect((await deploy(member)).body.code).toBe('resource_limit_reached')
  })

  test('a model that is not in the catalog is a 422 rather than a 409', async () => {
    const client = await registerClient(server.url)
    await deploy(client)
    await deploy(client)
    expect((await deploy(client, 'no-such-model')).body.code).toBe('model_not_deployable')
  })

  test.each(['requested', 'provisioning', 'deploying', 'running', 'terminating'] as const)(
    'a %s deployment counts',
    async (status) => {
      const client = await registerClient(server.url)
      for (const _ of [1, 2]) {
        const { body } = await deploy(client)
        await server.application.db
          .updateTable('deployments')
          .set({ status })
          .where('id', '=', body.id)
          .execute()
      }
      expect((await deploy(client)).body.code).toBe('resource_limit_reached')
    },
  )

  test.each(['failed', 'terminated'] as const)('a %s deployment does not count', async (status) => {
    const client = await registerClient(server.url)
    for (const _ of [1, 2, 3]) {
      const { body, status: answered } = await deploy(client)
      expect(answered).toBe(201)
      await server.application.db
        .updateTable('deployments')
        .set({ status, terminated_at: status === 'terminated' ? new Date() : null })
        .where('id', '=', body.id)
        .execute()
    }
  })

  test('a subscription allows twenty', async () => {
    const client = await registerClient(server.url)
    expect((await activate(server.url, client)).status).toBe(200)
    for (let index = 0; index < 20; index++) expect((await deploy(client)).status).toBe(201)
    expect((await deploy(client)).body.code).toBe('resource_limit_reached')
  })
})

describe('other conditions', () => {
  test.each([
    ['past_due', 'payment_past_due'],
    ['suspended', 'account_suspended'],
    ['closed', 'account_suspended'],
  ] as const)(
    'an account that is %s: 409 %s; existing deployments are not affected',
    async (status, code) => {
      const client = await registerClient(server.url)
      const { body: running } = await deploy(client)
      await setStatus(client, status)
      expect(await deploy(client)).toMatchObject({ status: 409, body: { code } })
      expect((await client.get(`${path}/${running.id}`)).body.status).toBe('requested')
      expect((await client.delete(`${path}/${running.id}`)).status).toBe(200)
      await setStatus(client, 'active')
      expect((await deploy(client)).status).toBe(201)
    },
  )

  test.each([
    ['past_due', 200, null],
    ['suspended', 409, 'account_suspended'],
  ] as const)('an account that is %s: waking is a %d, and growing a 409', async (status, woken, code) => {
    const client = await registerClient(server.url)
    const { id } = (await deploy(client)).body
    await setStatus(client, status)
    const asleep = { status: 'sleeping', desired_state: 'asleep' } as const
    await server.application.db.updateTable('deployments').set(asleep).where('id', '=', id).execute()
    const answer = await client.post(`${path}/${id}/wake`)
    expect([answer.status, answer.body.code ?? null]).toEqual([woken, code])
    expect((await client.patch(`${path}/${id}`, { max_instances: 2 })).status).toBe(409)
    expect((await client.patch(`${path}/${id}`, { idle_minutes: 5 })).status).toBe(200)
  })

  test('members and admins get the same answer, viewers a 403', async () => {
    const admin = await registerClient(server.url)
    const viewer = await joinClient(server, admin, 'viewer')
    await setStatus(admin, 'suspended')
    expect((await deploy(admin)).body.code).toBe('account_suspended')
    expect((await deploy(viewer)).body.code).toBe('forbidden')
  })
})

describe('BILLING_TRIAL=off', () => {
  let strict: TestServer
  beforeAll(async () => {
    strict = await startTestServer({ worker: false, settings: { BILLING_TRIAL: 'off' } })
    await publishSandboxPrices(strict.application)
  })
  afterAll(() => strict.close())

  test('409 billing_not_activated until billing is activated', async () => {
    const client = await registerClient(strict.url)
    expect((await deploy(client)).body.code).toBe('billing_not_activated')
    expect((await client.get('/v1/billing/config')).body.features.trial).toBe(false)
    expect((await activate(strict.url, client)).status).toBe(200)
    expect((await deploy(client)).status).toBe(201)
  })
})

describe('trial_credit_exhausted', () => {
  const clock = createTestClock()
  const runtime = createScriptedRuntime()
  let trial: TestServer
  beforeAll(async () => {
    trial = await startTestServer({ clock: clock.now, runtime, settings: defaults })
  })
  afterEach(() => runtime.reset())
  afterAll(() => trial.close())

  test('409 as soon as usage exceeds the trial credit, until billing is activated', async () => {
    const firstDay = clock.now().toISOString().slice(0, 10)
    const client = await registerClient(trial.url)
    const { body } = await deploy(client)
    await waitForStatus(client, body.id, 'running')
    // At 0.001 per second the credit of 10.00 lasts 10,000 s.
    clock.advance(9_900_000)
    const second = await deploy(client)
    expect(second.status).toBe(201)
    await client.delete(`${path}/${second.body.id}`)
    await waitForStatus(client, second.body.id, 'terminated')
    clock.advance(100_000)
    expect(await deploy(client)).toMatchObject({ status: 409, body: { code: 'trial_credit_exhausted' } })
    // The summary has the current month only, which may have begun meanwhile.
    const { body: usage } = await client.get(`/v1/billing/usage?from=${firstDay}`)
    const amounts: string[] = usage.items.map((item: { estimated_amount: string }) => item.estimated_amount)
    expect(amounts.reduce((sum, amount) => sum + Number(amount), 0)).toBeGreaterThanOrEqual(10)
    expect((await activate(trial.url, client)).status).toBe(200)
    expect((await deploy(client)).status).toBe(201)
  })

  test('running deployments continue when the credit is used up', async () => {
    const client = await registerClient(trial.url)
    const { body } = await deploy(client)
    await waitForStatus(client, body.id, 'running')
    clock.advance(3 * hour)
    expect((await deploy(client)).body.code).toBe('trial_credit_exhausted')
    expect((await client.get(`${path}/${body.id}`)).body.status).toBe('running')
  })
})

test('200 concurrent creates with a limit of 5: five 201, the others 409', { timeout: 120_000 }, async () => {
  const five = await startTestServer({ worker: false, settings: { BILLING_TRIAL_MAX_ACTIVE: '5' } })
  try {
    const clients = await Promise.all([1, 2].map(() => registerClient(five.url)))
    const answers = await Promise.all(
      clients.map((client) => Promise.all(Array.from({ length: 200 }, () => deploy(client)))),
    )
    for (const [index, client] of clients.entries()) {
      const statuses = answers[index]!.map(({ status }) => status)
      expect(statuses.filter((status) => status === 201)).toHaveLength(5)
      expect(statuses.filter((status) => status === 409)).toHaveLength(195)
      expect((await client.get(path)).body.total).toBe(5)
    }
  } finally {
    await five.close()
  }
})
