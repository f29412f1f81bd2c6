import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase } from '../../src/database/connect.ts'
import { checkBudgets } from '../../src/features/billing/budgets/check-budgets.ts'
import { confirmInstanceSpan, openInstanceSpan } from '../../src/features/metering/spans.ts'
import { Exact } from '../../src/features/metering/decimal.ts'
import { createRandom } from '../chaos/load.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

/** The suite runs a few histories; `BUDGET_HISTORIES=200` is the full run. */
const histories = Number(process.env.BUDGET_HISTORIES ?? 6)
const steps = 25
const path = '/v1/billing/budgets'
const start = new Date('2026-01-10T09:30:00.000Z')
let now = start

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({
    worker: false,
    runtime: createScriptedRuntime(undefined, () => now),
    clock: () => now,
    settings: { BILLING_TRIAL_CREDIT: '100000' },
  })
})
afterAll(() => server.close())

/** Runs the check on connections that break before the n-th statement, as after kill -9. Resolves to whether they broke. */
async function checkAndKill(killBefore: number): Promise<boolean> {
  let statements = 0
  const { databaseUrl } = server.application.config
  const connection = connectDatabase(databaseUrl!, 2, () => undefined)
  connection.pool.on('connect', (client) => {
    const send = client.query.bind(client) as (...parameters: unknown[]) => unknown
    Object.assign(client, {
      async query(...parameters: unknown[]) {
        statements += 1
        if (statements < killBefore) return send(...parameters)
        ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
        throw new Error('killed')
      },
    })
  })
  await checkBudgets({ ...server.application, db: connection.db }).catch(() => undefined)
  await connection.close().catch(() => undefined)
  return statements >= killBefore
}

/** Gives a requested deployment an instance that serves. */
async function startInstance(id: string): Promise<void> {
  const { db } = server.application
  const deployment = await db
    .selectFrom('deployments')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  await db.transaction().execute(async (transaction) => {
    const instance = { instanceId: 'i', region: 'test-region', startedAt: now }
    await openInstanceSpan(transaction, { ...deployment, selected_instance_type: 'small' }, instance, now)
    await confirmInstanceSpan(transaction, deployment, now)
  })
}

interface History {
  owner: Client
  budgetId: number
  limit: number
  atLimit: 'notify' | 'block'
  running: number
  /** The percentages that were reached at a time of the history, and so may have been announced */
  reachable: Set<number>
}

async function readSpent({ owner }: History): Promise<string> {
  const { body } = await owner.get('/v1/billing/usage-summary')
  return body.usage_totals.reduce(
    (sum: string, total: { estimated_amount: string }) =>
      new Exact(sum).plus(total.estimated_amount).toFixed(),
    '0',
  )
}

async function noteReached(history: History): Promise<number[]> {
  const share = new Exact(await readSpent(history)).dividedBy(history.limit).times(100)
  const reached = [50, 80, 100].filter((percent) => share.gte(percent))
  for (const percent of reached) history.reachable.add(percent)
  return reached
}

/** A start succeeds exactly when nothing within a minute passes the limit. */
async function requestStart(history: History): Promise<void> {
  const spent = await readSpent(history)
  const soon = new Exact(spent).plus(new Exact('0.06').times(history.running + 1))
  const isBlocked =
    history.atLimit === 'block' && (new Exact(spent).gte(history.limit) || soon.gt(history.limit))
  const { status, body } = await history.owner.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  expect([status, body.code]).toEqual(isBlocked ? [409, 'budget_exhausted'] : [201, undefined])
  if (status !== 201) return
  await startInstance(body.id)
  history.running += 1
}

async function change(history: History, changes: { limit?: number; atLimit?: 'notify' | 'block' }) {
  Object.assign(history, changes)
  const body = { monthly_limit: String(history.limit), at_limit: history.atLimit }
  expect((await history.owner.patch(`${path}/${history.budgetId}`, body)).status).toBe(200)
}

async function step(history: History, random: () => number): Promise<void> {
  const choice = random()
  if (choice < 0.3) now = new Date(now.getTime() + Math.floor(random() * 3_600_000))
  else if (choice < 0.5) await requestStart(history)
  else if (choice < 0.6) {
    await change(history, { limit: Math.ceil(random() * 40) })
    await requestStart(history)
  } else if (choice < 0.65) await change(history, { atLimit: random() < 0.5 ? 'notify' : 'block' })
  else {
    await noteReached(history)
    await checkAndKill(1 + Math.floor(random() * 45))
  }
}

async function countMails(budgetId: number): Promise<Map<number, number>> {
  const rows = await server.application.db
    .selectFrom('mails')
    .innerJoin('budget_alerts', 'budget_alerts.id', 'mails.subject_id')
    .select('percent')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('mails.kind', '=', 'budget_alert')
    .where('budget_id', '=', budgetId)
    .groupBy('percent')
    .execute()
  return new Map(rows.map(({ percent, count }) => [percent, count]))
}

test(
  'random histories, the job killed between any two statements: emails once each, no start after the limit, a raise opens at once',
  { timeout: 60_000 + histories * 20_000 },
  async () => {
    for (let seed = 1; seed <= histories; seed += 1) {
      const random = createRandom(seed)
      now = start
      const owner = await registerClient(server.url)
      const limit = Math.ceil(random() * 20)
      const terms = { scope: 'organization', monthly_limit: String(limit), at_limit: 'block' }
      const { id: budgetId } = (await owner.post(path, terms)).body
      const history: History = {
        owner,
        budgetId,
        limit,
        atLimit: 'block',
        running: 0,
        reachable: new Set(),
      }
      for (let index = 0; index < steps; index += 1) await step(history, random)
      const reached = await noteReached(history)
      await checkBudgets(server.application)
      await checkBudgets(server.application)
      const mails = await countMails(budgetId)
      expect(
        [...mails.values()].every((count) => count === 1),
        `seed ${seed}`,
      ).toBe(true)
      expect([...mails.keys()]).toEqual(expect.arrayContaining(reached))
      expect([...history.reachable]).toEqual(expect.arrayContaining([...mails.keys()]))
      // A deleted budget costs the next histories nothing.
      expect((await owner.delete(`${path}/${budgetId}`)).status).toBe(204)
    }
  },
)
