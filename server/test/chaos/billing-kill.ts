// Kills a process at a random query while it activates billing, reports usage or handles invoices; checks
// that nothing is lost or doubled.
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { createApplication } from '../../src/wiring/create-application.ts'
import type { Application } from '../../src/wiring/application.ts'
import { readConfig } from '../../src/config/config.ts'
import { startEmbeddedDatabase } from '../../src/database/embedded.ts'
import { applyBillingEvent } from '../../src/features/billing/processor/events.ts'
import { publishSandboxPrices } from '../../src/features/billing/processor/publish-prices.ts'
import { addHours, floorHour } from '../../src/features/metering/hours.ts'
import { createLog } from '../../src/base/log.ts'
import { buildServer } from '../../src/process/server.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { createTestClock, hour } from '../support/clock.ts'
import type { TestClock } from '../support/clock.ts'
import { callSandbox } from '../support/sandbox.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { writeSealedSeconds } from '../support/sealed-usage.ts'
import { checks, hoursUsed, readAccount } from './billing-checks.ts'
import { steps } from './billing-steps.ts'
import type { StepName } from './billing-steps.ts'
import { runKilledStep } from './killed-step.ts'
import type { StepOrganization } from './killed-step.ts'
import { createRandom } from './load.ts'

interface TestBed {
  application: Application
  clock: TestClock
  url: string
  settings: Record<string, string>
}

export interface BillingKillSummary {
  rounds: Record<StepName, number>
  /** Rounds in which the process was killed; in the others it finished before that query */
  kills: Record<StepName, number>
  /** Number of queries of each step without a kill */
  queries: Record<StepName, number>
}

/** Runs `rounds` of each step; throws with the killed query when an invariant is violated. */
export async function runBillingKills(options: {
  databaseUrl: string
  rounds: number
  seed: number
  report?: (line: string) => void
}): Promise<BillingKillSummary> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'berth-billing-kill-'))
  const settings = {
    ROLE: 'api',
    DATABASE_URL: options.databaseUrl,
    DATA_DIR: dataDirectory,
    SECRET_KEY: 'k'.repeat(32),
    DATABASE_POOL_SIZE: '5',
  }
  const clock = createTestClock()
  const application = await createApplication(readConfig(settings), {
    log: createLog({ level: 'silent' }, () => {}),
    clock: clock.now,
    runtime: createScriptedRuntime(),
  })
  const app = await buildServer(application)
  try {
    await app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = app.server.address() as AddressInfo
    await publishSandboxPrices(application)
    return await runRounds({ application, clock, url: `http://127.0.0.1:${port}`, settings }, options)
  } finally {
    await app.close()
    await application.close()
    await rm(dataDirectory, { recursive: true, force: true })
  }
}

async function runRounds(
  testBed: TestBed,
  { rounds, seed, report }: { rounds: number; seed: number; report?: (line: string) => void },
): Promise<BillingKillSummary> {
  const random = createRandom(seed)
  const none = () => ({ activation: 0, usage: 0, invoice: 0, payment: 0 })
  const summary: BillingKillSummary = { rounds: none(), kills: none(), queries: none() }
  for (const step of ['activation', 'usage', 'invoice', 'payment'] as const) {
    // The first round has no kill and counts the queries.
    for (let round = 0; round <= rounds; round++) {
      const organization = await prepare(testBed, step)
      const killBefore = round === 0 ? null : 1 + Math.floor(random() * summary.queries[step])
      const { died, output } = await runChild(testBed, step, organization, killBefore)
      if (killBefore === null) summary.queries[step] = Number(output)
      else summary.rounds[step] += 1
      if (died) summary.kills[step] += 1
      try {
        await finish(testBed, step, organization)
        await checks[step](testBed.application, organization.viewer)
        await retire(testBed, organization)
      } catch (error) {
        throw new Error(`${step}, killed before query ${killBefore}, seed ${seed}`, { cause: error })
      }
      report?.(
        `${step} ${round}: ${died ? 'killed' : 'done'} before query ${killBefore ?? '-'} of ${summary.queries[step]}`,
      )
    }
  }
  return summary
}

interface Organization {
  client: Client
  viewer: StepOrganization
}

/** Creates an organization and runs the steps before `step`. */
async function prepare(testBed: TestBed, step: StepName): Promise<Organization> {
  const client = await registerClient(testBed.url)
  const { body: session } = await client.get('/v1/auth/session')
  const { body: account } = await client.get('/v1/billing/account')
  const organizationId = account.organization_id
  const { id: userId, email, organization: organizationName } = session.user
  const organization = { client, viewer: { organizationId, userId, email, organizationName } }
  if (step === 'activation') return organization
  await steps.activation(testBed.application, organization.viewer)
  await writeUsage(testBed, organization)
  if (step === 'usage') return organization
  await steps.usage(testBed.application, organization.viewer)
  const { body } = await client.get('/v1/billing/subscription')
  testBed.clock.advance(Date.parse(body.current_period_end) + 60_000 - testBed.clock.now().getTime())
  if (step === 'invoice') return organization
  await steps.invoice(testBed.application, organization.viewer)
  testBed.clock.advance(2 * hour)
  return organization
}

async function writeUsage({ application, clock }: TestBed, { client, viewer }: Organization): Promise<void> {
  const { body: deployment } = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  const { body: account } = await client.get('/v1/billing/account')
  const since = floorHour(new Date(account.current_period_start))
  clock.advance((hoursUsed.length + 2) * hour)
  for (const [index, thousandths] of hoursUsed.entries()) {
    await writeSealedSeconds(application.db, {
      organizationId: viewer.organizationId,
      deploymentId: deployment.id,
      hour: addHours(since, index),
      quantity: String(thousandths / 1000),
      sealedAt: clock.now(),
    })
  }
}

function runChild(
  { clock, settings }: TestBed,
  step: StepName,
  { viewer }: Organization,
  killBefore: number | null,
): Promise<{ died: boolean; output: string }> {
  const ahead = clock.now().getTime() - Date.now()
  return runKilledStep(settings, {
    file: 'billing-steps.ts',
    step,
    organization: viewer,
    clock: { ahead },
    killBefore,
  })
}

/**
 * Repeats the step ten minutes later, after the dead process's leases have expired, then handles its
 * remaining events.
 */
async function finish(
  { application, clock }: TestBed,
  step: StepName,
  { viewer }: Organization,
): Promise<void> {
  const { db } = application
  clock.advance(10 * 60_000)
  await db
    .updateTable('billing_accounts')
    .set({ leased_until: sql<Date>`now() - interval '1 second'` })
    .where('leased_until', 'is not', null)
    .execute()
  await steps[step](application, viewer)
  // An invoice is a draft for an hour.
  if (step === 'invoice') clock.advance(2 * hour)
  await handleEvents(application, viewer)
}

/** Delivers and applies all events of the processor. */
async function handleEvents(application: Application, viewer: Organization['viewer']): Promise<void> {
  await steps.invoice(application, viewer)
  const { db } = application
  const waiting = await db.selectFrom('billing_events').select('id').where('handled_at', 'is', null).execute()
  for (const { id } of waiting) await applyBillingEvent(application, id)
}

/** Cancels an organization's subscription to exclude it from the next rounds. */
async function retire({ application }: TestBed, { viewer }: Organization): Promise<void> {
  const { processor_subscription_id: id } = await readAccount(application, viewer)
  await callSandbox(application, 'DELETE', `/v1/subscriptions/${id}`)
  await handleEvents(application, viewer)
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { rounds: { type: 'string' }, seed: { type: 'string' } } })
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
  console.log(`seed ${seed}`)
  const dataDirectory = await mkdtemp(join(tmpdir(), 'berth-billing-database-'))
  const database = await startEmbeddedDatabase({ dataDirectory, log: () => {}, settings: { fsync: 'off' } })
  try {
    const rounds = Number(values.rounds ?? 30)
    console.log(await runBillingKills({ databaseUrl: database.url, rounds, seed, report: console.log }))
  } finally {
    await database.stop()
    await rm(dataDirectory, { recursive: true, force: true })
  }
}
