import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { EngineObservation } from '../../../../src/ports/model-runtime.ts'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { createTestClock, hour } from '../../../support/clock.ts'
import { deploy, waitForStatus } from '../../../support/deployments.ts'
import { makeDue } from '../../../support/reconcile.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const clock = createTestClock()
const runtime = createScriptedRuntime(undefined, clock.now)
const path = '/api/v1/model-deployments'
const minute = 60_000
let server: TestServer
let client: Client

beforeAll(async () => {
  server = await startTestServer({
    runtime,
    clock: clock.now,
    settings: { BILLING_TRIAL_MAX_ACTIVE: '100' },
  })
  client = await registerClient(server.url)
})
afterAll(() => server.close())

const unreachable = (): EngineObservation => ({
  phase: 'unreachable',
  message: 'The cluster is unreachable.',
})

/** Waits for a message of a deployment whose next checks are due at once. */
async function waitForMessage(id: string, expected: string | null): Promise<any> {
  return vi.waitFor(
    async () => {
      await makeDue(server, id)
      const { body } = await client.get(`${path}/${id}`)
      expect(body.status_message).toBe(expected)
      return body
    },
    { timeout: 30_000, interval: 100 },
  )
}

/** Waits until the runtime has been asked for the third time. */
function waitForCalls(id: string, call: 'observeEngine' | 'ensureEngine'): Promise<void> {
  return vi.waitFor(
    async () => {
      await makeDue(server, id)
      expect(runtime.callsFor(id).filter((name) => name === call).length).toBeGreaterThan(2)
    },
    { timeout: 60_000, interval: 100 },
  )
}

test('a running deployment stays running while its runtime is unreachable, and reports it', async () => {
  runtime.reset()
  const body = await deploy(client)
  runtime.answer({ observeEngine: unreachable })
  expect(await waitForMessage(body.id, 'The cluster is unreachable.')).toMatchObject({
    status: 'running',
    waiting_for: 'runtime',
  })
  clock.advance(hour)
  await waitForCalls(body.id, 'observeEngine')
  runtime.reset()
  expect(await waitForMessage(body.id, null)).toMatchObject({ status: 'running', waiting_for: null })
  expect(runtime.callsFor(body.id).filter((name) => name === 'ensureEngine')).toHaveLength(1)
})

test('a deployment that has never run fails after ten minutes without its runtime', async () => {
  runtime.reset()
  runtime.answer({ ensureEngine: unreachable })
  const { body } = await client.post(path, { model_name: 'berth-tiny' })
  expect((await waitForMessage(body.id, 'The cluster is unreachable.')).status).toBe('deploying')
  clock.advance(9 * minute)
  await waitForCalls(body.id, 'ensureEngine')
  expect((await client.get(`${path}/${body.id}`)).body.status).toBe('deploying')
  clock.advance(2 * minute)
  const failed = await waitForStatus(client, body.id, 'failed')
  expect(failed.failure_stage).toBe('engine_startup')
  expect(failed.failure_reason).toBe('engine_unreachable: The cluster is unreachable.')
})
