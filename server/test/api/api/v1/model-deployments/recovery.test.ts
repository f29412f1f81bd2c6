import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { FailureCode, FailureStage } from '../../../../../src/ports/engine-failures.ts'
import type { EngineObservation } from '../../../../../src/ports/model-runtime.ts'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { deploy as deployAs, waitForStatus } from '../../../../support/deployments.ts'
import { checkNow, makeDue } from '../../../../support/reconcile.ts'
import { answerJson, startRecordingEngine } from '../../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../../support/recording-engine.ts'
import { changeRecovery, readRecovery, secondsAgo } from '../../../../support/recovery.ts'
import { createScriptedRuntime } from '../../../../support/scripted-runtime.ts'
import type { ScriptedRuntime } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const patience = { timeout: 60_000, interval: 50 }
const answer =
  '{"choices":[{"message":{"content":"Hello"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'

let runtime: ScriptedRuntime
let engine: RecordingEngine
let server: TestServer
let client: Client
beforeAll(async () => {
  engine = await startRecordingEngine()
  engine.answer((response) => answerJson(response, answer))
  runtime = createScriptedRuntime(engine.url)
  server = await startTestServer({
    runtime,
    // Nobody listens there: the alerts stay in the outbox.
    settings: {
      ALERT_WEBHOOK_URL: 'http://127.0.0.1:9/',
      ALERT_WEBHOOK_SECRET: `whsec_${btoa('s'.repeat(32))}`,
    },
  })
  client = await registerClient(server.url)
})
afterEach(() => runtime.reset())
afterAll(async () => {
  await server.close()
  await engine.close()
})

const fail = (code: FailureCode, stage: FailureStage = 'runtime'): EngineObservation => ({
  phase: 'failed',
  stage,
  code,
  message: 'It broke.',
})
const read = async (id: string) => (await client.get(`${path}/${id}`)).body
const chat = (model: string) =>
  client.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] })
const readMessages = async (id: string): Promise<string[]> =>
  (await client.get(`${path}/${id}/events`)).body.items.map(({ message }: { message: string }) => message)

async function deploy(): Promise<string> {
  return (await deployAs(client)).id
}

async function fallAsleep(id: string): Promise<void> {
  await client.post(`${path}/${id}/sleep`)
  await waitForStatus(client, id, 'sleeping')
}

/** The types of the alerts about a deployment, in order */
async function listAlerts(id: string): Promise<string[]> {
  const rows = await server.application.db
    .selectFrom('webhook_messages')
    .select(['type', 'body'])
    .orderBy('id')
    .execute()
  return rows.filter(({ body }) => JSON.parse(body).data.deployment_id === id).map(({ type }) => type)
}

const ready = (): EngineObservation => ({ phase: 'ready', endpoint: { baseUrl: engine.url } })

/** Lets every start and check of a deployment fail like this. */
function breakEngine(id: string, code: FailureCode): void {
  runtime.answer({
    observeEngine: (each) => (each === id ? fail(code) : ready()),
    ensureEngine: ({ deploymentId }) => (deploymentId === id ? fail(code, 'model_launch') : ready()),
  })
}

/** Lets the pause before the next attempt end. */
const endPause = (id: string) => changeRecovery(server, id, { next_at: secondsAgo(1) })

async function waitForAttempts(id: string, attempts: number): Promise<void> {
  await vi.waitFor(
    async () => expect((await readRecovery(server, id))?.attempts ?? 0).toBeGreaterThanOrEqual(attempts),
    patience,
  )
}

test.each<FailureCode>([
  'out_of_memory',
  'engine_crashed',
  'launch_rejected',
  'model_not_found',
  'download_failed',
  'disk_full',
  'readiness_timeout',
  'instance_lost',
])(
  'a deployment that has served starts again after %s, and requests hear the cause at once',
  async (code) => {
    const id = await deploy()
    breakEngine(id, code)
    await makeDue(server, id)
    await waitForAttempts(id, 2)
    const lost = await read(id)
    expect(lost).toMatchObject({ status: 'deploying', failure_reason: null })
    expect(lost.status_message).toMatch(/^It broke\. /)
    const refused = await chat(id)
    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'deployment_not_ready' } } })
    expect(refused.body.error.message).toContain('It broke.')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await readMessages(id)).toContainEqual(
      expect.stringMatching(/^It broke\. .*The next attempt is at /),
    )
    runtime.reset()
    await waitForStatus(client, id, 'running')
    expect(await chat(id)).toMatchObject({ status: 200 })
  },
)

test('a process whose clock is behind stops no engine that another one has started again', async () => {
  const id = await deploy()
  runtime.answer({
    observeEngine: (each) => (each === id ? fail('engine_crashed') : ready()),
    ensureEngine: () => ({ phase: 'starting', message: 'It starts.' }),
  })
  await makeDue(server, id)
  const afterStop = () => runtime.callsFor(id).join(' ').split('stopEngine').slice(1)
  await vi.waitFor(() => expect(afterStop()).toEqual([expect.stringContaining('ensureEngine')]), patience)
  await changeRecovery(server, id, { next_at: secondsAgo(-5) })
  await checkNow(server, id)
  expect(afterStop()).toHaveLength(1)
  runtime.reset()
  await waitForStatus(client, id, 'running')
})

test('an engine that ran out of memory starts again with fewer sequences', async () => {
  const id = await deploy()
  const specs = () =>
    runtime.specs
      .filter(({ deploymentId }) => deploymentId === id)
      .map(({ parallelSequences, contextTokens }) => [parallelSequences, contextTokens])
  const [first] = specs()
  const [sequences, context] = first as [number, number]
  expect(sequences).toBe(4)
  let isWhole = true
  const failWhole = () => (isWhole ? fail('out_of_memory') : ready())
  runtime.answer({
    observeEngine: failWhole,
    ensureEngine: ({ parallelSequences }) => {
      isWhole = parallelSequences === sequences
      return failWhole()
    },
  })
  await makeDue(server, id)
  await vi.waitFor(() => expect(specs().at(-1)).toEqual([2, context]), patience)
  await waitForStatus(client, id, 'running')
})

test('an engine that is lost ten times in a row comes back each time', async () => {
  const id = await deploy()
  for (let time = 0; time < 10; time += 1) {
    let isLost = true
    runtime.answer({
      observeEngine: (each) => (each === id && isLost ? fail('engine_crashed') : ready()),
      ensureEngine: ({ deploymentId }) => {
        if (deploymentId === id) isLost = false
        return ready()
      },
    })
    await makeDue(server, id)
    await waitForAttempts(id, time + 1)
    if (time > 0) await endPause(id)
    await waitForStatus(client, id, 'running')
  }
  expect(await listAlerts(id)).toEqual(['deployment.lost'])
  await changeRecovery(server, id, { served_at: secondsAgo(600) })
  await checkNow(server, id)
  expect(await readRecovery(server, id)).toBeNull()
  expect(await listAlerts(id)).toEqual(['deployment.lost', 'deployment.recovered'])
})

test.each([
  ['a file that is gone', { ensureEngine: () => fail('model_not_found', 'model_download') }],
  [
    'a refusal of the cluster',
    { provision: () => ({ outcome: 'refused', code: 'provider_error', message: 'It broke.' }) as const },
  ],
])(
  'a wake that fails because of %s: the request gets a 503 with the cause, and a later one an answer',
  async (_what, broken) => {
    const id = await deploy()
    await fallAsleep(id)
    runtime.answer(broken)
    const refused = await chat(id)
    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'deployment_not_ready' } } })
    expect(refused.body.error.message).toContain('It broke.')
    expect((await read(id)).status).toBe('deploying')
    runtime.reset()
    await waitForStatus(client, id, 'running')
    expect((await chat(id)).status).toBe(200)
  },
)

test('a pause of a minute gives the hardware back, and attempts are not billed', async () => {
  const id = await deploy()
  breakEngine(id, 'launch_rejected')
  await makeDue(server, id)
  await waitForAttempts(id, 2)
  await changeRecovery(server, id, { attempts: 7, next_at: secondsAgo(1) })
  await vi.waitFor(async () => expect((await read(id)).instances).toEqual([]), patience)
  const waiting = await read(id)
  expect(waiting).toMatchObject({ status: 'deploying', waiting_for: null })
  expect(waiting.status_message).toMatch(/^It broke\. The next attempt is at \d\d:\d\d:\d\d UTC\.$/)
  const seconds = Number((await chat(id)).headers.get('retry-after'))
  expect(seconds).toBeGreaterThan(5)
  expect(seconds).toBeLessThanOrEqual(64)
  const spans = () =>
    server.application.db
      .selectFrom('instance_spans')
      .select(['ended_at', 'voided_at'])
      .where('deployment_id', '=', id)
      .orderBy('id')
      .execute()
  expect((await spans()).map(({ ended_at, voided_at }) => [ended_at !== null, voided_at !== null])).toEqual([
    [true, false],
  ])

  await endPause(id)
  await waitForAttempts(id, 9)
  await vi.waitFor(async () => expect((await read(id)).instances).toEqual([]), patience)
  expect((await spans()).map(({ voided_at }) => voided_at !== null)).toEqual([false, true])
  runtime.reset()
  await endPause(id)
  await waitForStatus(client, id, 'running')
})

test('after an hour without success a deployment sleeps with the cause, and each wake is one attempt', async () => {
  const id = await deploy()
  breakEngine(id, 'out_of_memory')
  await makeDue(server, id)
  await waitForAttempts(id, 2)
  await changeRecovery(server, id, { since: secondsAgo(3_601), next_at: secondsAgo(1) })
  expect(await waitForStatus(client, id, 'sleeping')).toMatchObject({ status_message: 'It broke.' })
  const early = await chat(id)
  expect(early).toMatchObject({ status: 503, body: { error: { code: 'deployment_not_ready' } } })
  expect(Number(early.headers.get('retry-after'))).toBeGreaterThan(200)
  expect((await read(id)).status).toBe('sleeping')

  const starts = () => runtime.callsFor(id).filter((call) => call === 'provision').length
  const before = starts()
  await endPause(id)
  expect(await chat(id)).toMatchObject({ status: 503, body: { error: { code: 'deployment_not_ready' } } })
  await waitForStatus(client, id, 'sleeping')
  expect(starts()).toBe(before + 1)
  expect((await client.post(`${path}/${id}/wake`)).status).toBe(200)
  await vi.waitFor(() => expect(starts()).toBe(before + 2), patience)
  await waitForStatus(client, id, 'sleeping')

  runtime.reset()
  await endPause(id)
  expect(await chat(id)).toMatchObject({ status: 200 })
  expect(await listAlerts(id)).toEqual(['deployment.lost'])
})
