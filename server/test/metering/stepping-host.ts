import { afterAll, beforeAll, expect } from 'vitest'
import { createRandom } from '../chaos/load.ts'
import { checkLedger } from '../../src/features/metering/checks.ts'
import { settleUsage } from '../../src/features/metering/settle.ts'
import { readDatabaseTime } from '../../src/database/database-clock.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const second = 1_000
const steps = [second, 60 * second, 3_600 * second, 86_400 * second].flatMap((by) => [by, -by])
/** One reading of the clock in so many comes after a step. */
const readingsPerStep = 20

/** Replaces the time of day by one that steps at random readings, until the result is called. */
function stepHostClock(random: () => number): () => void {
  const Real = globalThis.Date
  let offset = 0
  globalThis.Date = class extends Real {
    constructor(...given: unknown[]) {
      if (given.length === 0) super(globalThis.Date.now())
      else super(...(given as [number]))
    }

    static override now(): number {
      if (random() < 1 / readingsPerStep)
        offset = random() < 0.3 ? 0 : steps[Math.floor(random() * steps.length)]!
      return Real.now() + offset
    }
  } as DateConstructor
  return () => {
    globalThis.Date = Real
  }
}

/** Starts a server for the tests of a file. Returns a function that bills a deployment on it. */
export function openSteppingHost(): (seed: number) => Promise<void> {
  let server: TestServer
  let client: Client
  beforeAll(async () => {
    // The provider of the hardware has its own clock, which is right.
    const runtime = createScriptedRuntime(undefined, () => server.application.clock())
    server = await startTestServer({ runtime })
    client = await registerClient(server.url)
  })
  afterAll(() => server?.close())
  return (seed) => bill(server, client, seed)
}

/** Runs a deployment on a host whose clock steps, and compares its bill with the time that passed. */
async function bill(server: TestServer, client: Client, seed: number): Promise<void> {
  const { db } = server.application
  const readDatabase = async () => ({ at: await readDatabaseTime(db), monotonic: performance.now() })
  const restore = stepHostClock(createRandom(seed))
  try {
    const requested = await readDatabase()
    const { id } = await deploy(client)
    const running = await readDatabase()
    await settleUsage(server.application)
    const ending = await readDatabase()
    await client.delete(`/api/v1/model-deployments/${id}`)
    await waitForStatus(client, id, 'terminated')
    const ended = await readDatabase()
    await settleUsage(server.application)
    const span = await db
      .selectFrom('instance_spans')
      .select(['started_at', 'ended_at'])
      .where('deployment_id', '=', id)
      .executeTakeFirstOrThrow()
    const [from, to] = [span.started_at.getTime(), span.ended_at!.getTime()]
    // Rows have whole milliseconds, and the clock is as exact as a round trip to the database.
    const slack = 500
    expect(from).toBeGreaterThanOrEqual(requested.at - slack)
    expect(from).toBeLessThanOrEqual(running.at + slack)
    expect(to).toBeGreaterThanOrEqual(ending.at - slack)
    expect(to).toBeLessThanOrEqual(ended.at + slack)
    expect(to - from).toBeGreaterThanOrEqual(ending.monotonic - running.monotonic - slack)
    expect(to - from).toBeLessThanOrEqual(ended.monotonic - requested.monotonic + slack)
    const { billed } = await db
      .selectFrom('usage_buckets')
      .select(({ fn }) => fn.sum<string>('quantity').as('billed'))
      .where('deployment_id', '=', id)
      .executeTakeFirstOrThrow()
    expect(Math.round(Number(billed) * second)).toBe(to - from)
    await checkLedger(server.application)
    const anomalies = await db.selectFrom('usage_anomalies').select('message').execute()
    expect(anomalies).toEqual([])
  } finally {
    restore()
  }
}
