import { randomInt } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { leaseDueDeployments } from '../../src/features/deployments/fleet/lease-store.ts'
import { createPassBatches } from '../../src/features/deployments/fleet/pass-batches.ts'
import { reconcileDeployment } from '../../src/features/deployments/fleet/reconcile.ts'
import { wakeForRequest } from '../../src/features/deployments/serving/wake.ts'
import { findPause } from '../../src/features/deployments/state/recovery.ts'
import { getDeployment } from '../../src/features/deployments/state/store.ts'
import type { FailureCode } from '../../src/ports/engine-failures.ts'
import type { EngineObservation } from '../../src/ports/model-runtime.ts'
import { createRandom, pickFrom } from '../chaos/load.ts'
import { registerClient } from '../support/client.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

/** `npm run test:recovery` plays 300 histories. */
const histories = Number(process.env['RECOVERY_HISTORIES'] ?? 3)
const firstSeed = Number(process.env['RECOVERY_SEED'] ?? randomInt(2 ** 31))
const path = '/api/v1/model-deployments'

/** What breaks engines; a file that is gone lets only starts fail. */
const engineCodes: readonly FailureCode[] = [
  'engine_crashed',
  'engine_unreachable',
  'instance_lost',
  'out_of_memory',
  'launch_rejected',
  'readiness_timeout',
]
const fileCodes: readonly FailureCode[] = ['model_not_found', 'download_failed', 'disk_full']
const hardwareCodes: readonly FailureCode[] = ['provider_error', 'no_capacity', 'quota_exceeded']

/** The causes that last */
interface Faults {
  engine: FailureCode | null
  file: FailureCode | null
  hardware: FailureCode | null
}

let now = new Date()
const runtime = createScriptedRuntime(undefined, () => now)
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({
    runtime,
    worker: false,
    clock: () => now,
    settings: { BILLING_TRIAL_CREDIT: '1000000' },
  })
})
afterAll(() => server.close())

const fail = (code: FailureCode): EngineObservation => ({
  phase: 'failed',
  stage: 'runtime',
  code,
  message: `The cause is ${code}.`,
})
const ready: EngineObservation = { phase: 'ready', endpoint: { baseUrl: 'http://127.0.0.1:9' } }

function apply({ engine, file, hardware }: Faults): void {
  const start = engine ?? file
  runtime.reset()
  runtime.answer({
    observeEngine: () => (engine === null ? ready : fail(engine)),
    ensureEngine: () => (start === null ? ready : fail(start)),
    ...(hardware !== null && { provision: () => ({ outcome: 'refused', code: hardware, message: 'No.' }) }),
  })
}

/** A few passes of a worker. Each must leave a deployment that is to be awake with another pass. */
async function work(id: string, passes = 4): Promise<void> {
  const { db } = server.application
  for (let pass = 0; pass < passes; pass += 1) {
    await sql`UPDATE instances SET due_at = NULL WHERE deployment_id = ${id}`.execute(db)
    await sql`UPDATE deployments SET reconcile_at = now() WHERE id = ${id} AND reconcile_at IS NOT NULL`.execute(
      db,
    )
    const leased = await leaseDueDeployments(db, 'worker', 60, 100)
    const batches = createPassBatches(db)
    await Promise.all(leased.map((each) => reconcileDeployment(server.application, batches, each)))
    const { status, desired_state, reconcile_at: next, failure_reason: reason } = await getDeployment(db, id)
    expect(status, reason ?? '').not.toBe('failed')
    if (desired_state === 'awake')
      expect(next, `the next pass of a deployment that is ${status}`).not.toBeNull()
  }
}

async function play(seed: number): Promise<void> {
  const { application } = server
  const random = createRandom(seed)
  const pass = (seconds: number) => (now = new Date(now.getTime() + seconds * 1_000))
  const faults: Faults = { engine: null, file: null, hardware: null }
  apply(faults)
  const client = await registerClient(server.url)
  const { id } = (await client.post(path, { model_name: 'berth-tiny' })).body
  const read = () => getDeployment(application.db, id)
  await work(id)
  expect((await read()).status).toBe('running')

  /** Once the cause is gone, a deployment serves after the pause that it is in, or after its wake. */
  async function heal(): Promise<void> {
    Object.assign(faults, { engine: null, file: null, hardware: null })
    apply(faults)
    pass(findPause((await read()).recovery, now) / 1_000)
    await work(id)
    if ((await read()).desired_state === 'asleep') {
      await wakeForRequest(application, id, '/v1/chat/completions')
      await work(id)
    }
    expect((await read()).status).toBe('running')
  }

  for (let step = 5 + Math.floor(random() * 25); step > 0; step -= 1) {
    const choice = random()
    if (choice < 0.15) faults.engine = pickFrom(random, engineCodes)!
    else if (choice < 0.25) faults.file = pickFrom(random, fileCodes)!
    else if (choice < 0.35) faults.hardware = pickFrom(random, hardwareCodes)!
    else if (choice < 0.45) faults.engine = null
    else if (choice < 0.55) Object.assign(faults, { file: null, hardware: null })
    else if (choice < 0.65) await client.post(`${path}/${id}/sleep`)
    else if (choice < 0.7) await client.post(`${path}/${id}/wake`)
    else if (choice < 0.8) await wakeForRequest(application, id, '/v1/chat/completions')
    else if (choice < 0.9) await heal()
    apply(faults)
    // Sometimes a moment, sometimes longer than the longest pause, or than the patience of an outage
    pass(random() < 0.1 ? 4_000 : random() ** 4 * 900)
    await work(id)
  }
  await heal()
  await client.delete(`${path}/${id}`)
  for (let tries = 0; tries < 5; tries += 1) await work(id)
  const { rows } = await sql<{ id: string }>`
    SELECT instances.id FROM instances JOIN instance_spans ON engine_id = instances.id
    WHERE instances.deployment_id = ${id} AND ready_at IS NULL AND voided_at IS NULL`.execute(application.db)
  expect(rows, 'instances that never served and are billed').toEqual([])
}

test(
  `random histories of losses: no deployment that served fails, each serves again (from seed ${firstSeed})`,
  { timeout: 60_000 + histories * 20_000 },
  async () => {
    for (let seed = firstSeed; seed < firstSeed + histories; seed += 1) {
      await play(seed).catch((error: unknown) => {
        throw new Error(`RECOVERY_SEED=${seed} RECOVERY_HISTORIES=1 repeats this history`, { cause: error })
      })
    }
  },
)
