import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkBudgets } from '../../src/features/billing/budgets/check-budgets.ts'
import { Exact } from '../../src/base/decimal.ts'
import { openProof } from '../../src/features/metering/proof.ts'
import { settleOrganization } from '../../src/features/metering/settle.ts'
import { verifyProof } from '../../../cli/src/bill/verify.ts'
import type { steps } from '../chaos/budget-steps.ts'
import { runKilledStep } from '../chaos/killed-step.ts'
import type { StepOrganization } from '../chaos/killed-step.ts'
import { createRandom } from '../chaos/load.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { serveInstance } from '../support/serve-instance.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

/** `npm run test:budgets` runs 200 histories, from a random seed unless BUDGET_SEED names one. */
const histories = Number(process.env['BUDGET_HISTORIES'] ?? 3)
const firstSeed = Number(process.env['BUDGET_SEED'] ?? (histories > 3 ? randomInt(2 ** 31) : 1))
const stepsPerHistory = 25
/** About as many queries as each step has */
const longest = { check: 30, start: 30, settle: 15 }
const shared = { ROLE: 'api', SECRET_KEY: 'k'.repeat(32), BILLING_TRIAL_CREDIT: '100000' }
const path = '/v1/billing/budgets'
const start = new Date('2026-01-10T09:30:00.000Z')
let now = start

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({
    worker: false,
    runtime: createScriptedRuntime(undefined, () => now),
    clock: () => now,
    settings: shared,
  })
})
afterAll(() => server.close())

/** Runs a step in its own server process, killed before a query. Without a kill it runs to its end. */
function runAndKill({ organization }: History, step: keyof typeof steps, random: () => number) {
  const { config } = server.application
  const settings = {
    ...shared,
    DATABASE_URL: config.databaseUrl!,
    DATA_DIR: server.dataDirectory,
    DATABASE_POOL_SIZE: '5',
  }
  const killBefore = 1 + Math.floor(random() * longest[step])
  const clock = { at: now.toISOString() }
  return runKilledStep(settings, { file: 'budget-steps.ts', step, organization, clock, killBefore })
}

interface History {
  owner: Client
  organization: StepOrganization
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

/** A start is blocked exactly when something within a minute passes the limit. */
async function expectBlock(history: History): Promise<boolean> {
  const spent = await readSpent(history)
  const soon = new Exact(spent).plus(new Exact('0.06').times(history.running + 1))
  return history.atLimit === 'block' && (new Exact(spent).gte(history.limit) || soon.gt(history.limit))
}

async function requestStart(history: History): Promise<void> {
  const isBlocked = await expectBlock(history)
  const { status, body } = await history.owner.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  expect([status, body.code]).toEqual(isBlocked ? [409, 'budget_exhausted'] : [201, undefined])
  await startInstances(history)
}

/** Gives the deployments without an instance one, as a worker does. */
async function startInstances(history: History): Promise<void> {
  const requested = await server.application.db
    .selectFrom('deployments')
    .select('id')
    .where('organization_id', '=', history.organization.organizationId)
    .orderBy('id')
    .execute()
  for (const { id } of requested.slice(history.running)) {
    await serveInstance(server.application.db, id, now)
    history.running += 1
  }
}

/**
 * A process is killed while it creates a deployment: the deployment exists as a whole or not at all, and
 * never after the limit.
 */
async function killStart(history: History, random: () => number): Promise<void> {
  const isBlocked = await expectBlock(history)
  const { running } = history
  await runAndKill(history, 'start', random)
  await startInstances(history)
  expect(history.running - running).toBeLessThanOrEqual(isBlocked ? 0 : 1)
  await requestStart(history)
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
  else if (choice < 0.85) {
    await noteReached(history)
    await checkBudgets(server.application)
  } else if (choice < 0.92) {
    await noteReached(history)
    await runAndKill(history, 'check', random)
  } else if (choice < 0.96) await killStart(history, random)
  else {
    await runAndKill(history, 'settle', random)
    await settleOrganization(server.application, history.organization.organizationId)
  }
}

/** The sealed hours are a chain without a gap or a fork, whatever was killed while it sealed. */
async function checkChain({ organization: { organizationId } }: History): Promise<void> {
  await settleOrganization(server.application, organizationId)
  const range = { from: new Date('2026-01-10T00:00:00Z'), to: new Date('2026-01-20T00:00:00Z') }
  let text = ''
  for await (const part of await openProof(server.application, organizationId, range)) text += part
  const proof = JSON.parse(text)
  expect(verifyProof(proof)).toMatchObject({ difference: null })
  expect(proof.hours.map(({ sequence }: { sequence: number }) => sequence)).toEqual(
    proof.hours.map((_: unknown, index: number) => index + 1),
  )
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

async function beginHistory(random: () => number): Promise<History> {
  now = start
  const owner = await registerClient(server.url)
  const { user } = (await owner.get('/v1/auth/session')).body
  const organizationId = (await owner.get('/v1/organization')).body.id
  const organization = {
    organizationId,
    userId: user.id,
    email: user.email,
    organizationName: user.organization,
  }
  const limit = Math.ceil(random() * 20)
  const terms = { scope: 'organization', monthly_limit: String(limit), at_limit: 'block' }
  const { id: budgetId } = (await owner.post(path, terms)).body
  return { owner, organization, budgetId, limit, atLimit: 'block', running: 0, reachable: new Set() }
}

async function playHistory(seed: number): Promise<void> {
  const random = createRandom(seed)
  const history = await beginHistory(random)
  for (let index = 0; index < stepsPerHistory; index += 1) await step(history, random)
  const reached = await noteReached(history)
  await checkBudgets(server.application)
  await checkBudgets(server.application)
  const mails = await countMails(history.budgetId)
  expect([...mails.values()]).toEqual([...mails.values()].map(() => 1))
  expect([...mails.keys()]).toEqual(expect.arrayContaining(reached))
  expect([...history.reachable]).toEqual(expect.arrayContaining([...mails.keys()]))
  await checkChain(history)
  // A deleted budget costs the next histories nothing.
  expect((await history.owner.delete(`${path}/${history.budgetId}`)).status).toBe(204)
}

test(
  `random histories with kill -9 between any two queries: emails once each, no start after the limit, a raise opens at once, the chain is whole (from seed ${firstSeed})`,
  { timeout: 60_000 + histories * 60_000 },
  async () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed += 1) {
      await playHistory(seed).catch((error: unknown) => {
        throw new Error(`BUDGET_SEED=${seed} BUDGET_HISTORIES=1 repeats this history`, { cause: error })
      })
    }
  },
)
