import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { ServerResponse } from 'node:http'
import { sql } from 'kysely'
import { checkBudgets } from '../../../../../src/features/billing/budgets/check-budgets.ts'
import { notify } from '../../../../../src/database/notifications.ts'
import { sleepOverBudget } from '../../../../../src/features/deployments/changes/sleep-over-budget.ts'
import { createClient, registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { deploy, waitForStatus } from '../../../../support/deployments.ts'
import { checkNow } from '../../../../support/reconcile.ts'
import { answerJson, startRecordingEngine } from '../../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'
const patience = { timeout: 30_000, interval: 50 }
const runtime = createScriptedRuntime()
const answer =
  '{"choices":[{"message":{"content":"Hello"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'

let server: TestServer
let engine: RecordingEngine
let client: Client
beforeAll(async () => {
  engine = await startRecordingEngine()
  server = await startTestServer({ runtime, settings: { BILLING_TRIAL_MAX_ACTIVE: '50' } })
})
beforeEach(async () => {
  client = await registerClient(server.url)
  serve()
})
afterEach(() => runtime.reset())
afterAll(async () => {
  await server.close()
  await engine.close()
})

function serve(): void {
  engine.answer((response) => answerJson(response, answer))
  runtime.answer({
    ensureEngine: () => ({ phase: 'ready', endpoint: { baseUrl: engine.url } }),
    observeEngine: () => ({ phase: 'ready', endpoint: { baseUrl: engine.url } }),
  })
}

const read = async (id: string) => (await client.get(`${path}/${id}`)).body
const sleep = (id: string) => client.post(`${path}/${id}/sleep`)
const wake = (id: string) => client.post(`${path}/${id}/wake`)
const chat = (model: string, headers: Record<string, string> = {}) =>
  client.request(
    'POST',
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: 'Hello' }] },
    headers,
  )
const listEvents = async (id: string) => (await client.get(`${path}/${id}/events`)).body.items
const listMessages = async (id: string): Promise<string[]> =>
  (await listEvents(id)).map(({ message }: { message: string }) => message)
const listTransitions = async (id: string) =>
  (await listEvents(id)).flatMap(({ status, transition }: { status: string; transition: object | null }) =>
    transition === null ? [] : [{ at: status, ...transition }],
  )
const countStarts = (id: string) => runtime.callsFor(id).filter((call) => call === 'provision').length

async function fallAsleep(): Promise<string> {
  const { id } = await deploy(client)
  expect((await sleep(id)).status).toBe(200)
  await waitForStatus(client, id, 'sleeping')
  return id
}

test('POST …/{id}/sleep: no instance is left, nothing is billed, and DELETE ends it', async () => {
  const { id, instances } = await deploy(client)
  expect(instances).toMatchObject([{ status: 'running', in_flight: 0 }])
  const { status, body } = await sleep(id)
  expect(status).toBe(200)
  expect(body).toMatchObject({ id, status: 'running' })
  const asleep = await waitForStatus(client, id, 'sleeping')
  expect(asleep).toMatchObject({
    instances: [],
    cluster_id: null,
    instance_id: null,
    selected_instance_type: null,
    status_message: null,
    waiting_for: null,
  })
  expect(runtime.allocated).not.toContain(id)
  const usage = async () => (await client.get(`${path}/${id}/usage`)).body
  const before = await usage()
  expect(before.instance_seconds).toBeGreaterThan(0)
  const after = await vi.waitFor(async () => {
    const now = await usage()
    expect(now.asleep_seconds).toBeGreaterThanOrEqual(before.asleep_seconds + 0.5)
    return now
  }, patience)
  expect(after).toMatchObject({ instance_seconds: before.instance_seconds, cost: before.cost })
  expect(after.saved / after.asleep_seconds).toBeCloseTo(after.cost / after.instance_seconds, 7)
  expect((await sleep(id)).body).toEqual(asleep)
  await client.delete(`${path}/${id}`)
  expect(await waitForStatus(client, id, 'terminated')).toMatchObject({ failure_stage: null })
})

test('POST …/{id}/wake: the same deployment on a new instance, and an event that says who and how long', async () => {
  const id = await fallAsleep()
  await server.application.db
    .updateTable('deployments')
    .set({ status_changed_at: new Date(Date.now() - 42 * 60_000) })
    .where('id', '=', id)
    .execute()
  const { status, body } = await wake(id)
  expect(status).toBe(200)
  // A worker may have begun already.
  expect(body.status).toBe('provisioning')
  const awake = await waitForStatus(client, id, 'running')
  expect(awake.instances).toHaveLength(1)
  const again = (await wake(id)).body
  expect(again).toMatchObject({ status: 'running', instances: [{ id: awake.instances[0]!.id }] })
  expect(countStarts(id)).toBe(2)
  expect(await listMessages(id)).toContainEqual(expect.stringMatching(/^Woken by .+ after 42 minutes\.$/))
  const unknown = { route: null, idle_minutes: null, after_seconds: null }
  const by = expect.stringMatching(/./)
  const phasesOf = (...names: string[]) => names.map((phase) => ({ phase, seconds: expect.any(Number) }))
  expect(await listTransitions(id)).toEqual([
    {
      ...unknown,
      at: 'running',
      type: 'start',
      cause: null,
      by: null,
      phases: phasesOf('provisioning', 'start'),
    },
    {
      ...unknown,
      at: 'running',
      type: 'sleep',
      cause: 'person',
      by,
      after_seconds: expect.any(Number),
      phases: null,
    },
    {
      ...unknown,
      at: 'sleeping',
      type: 'sleep',
      cause: 'person',
      by,
      after_seconds: expect.any(Number),
      phases: phasesOf('drain', 'release'),
    },
    {
      ...unknown,
      at: 'provisioning',
      type: 'wake',
      cause: 'person',
      by,
      after_seconds: expect.closeTo(42 * 60, -1),
      phases: null,
    },
    {
      ...unknown,
      at: 'running',
      type: 'wake',
      cause: 'person',
      by,
      after_seconds: expect.closeTo(42 * 60, -1),
      phases: phasesOf('provisioning', 'start'),
    },
  ])
  expect((await chat(id)).status).toBe(200)
})

test('an event holds no name of a person', async () => {
  const id = await fallAsleep()
  const { rows } = await sql<{ message: string }>`
    SELECT message FROM deployment_events WHERE deployment_id = ${id} AND stage = 'sleep'`.execute(
    server.application.db,
  )
  expect(rows).toEqual([{ message: '' }])
})

test('POST …/{id}/sleep: 409 while it starts and after its end', async () => {
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: '…' }) })
  const { id } = await deploy(client, 'berth-tiny', 'deploying')
  expect(await sleep(id)).toMatchObject({ status: 409, body: { code: 'deployment_not_ready' } })
  expect((await wake(id)).status).toBe(200)
  await client.delete(`${path}/${id}`)
  for (const act of [sleep, wake]) {
    expect(await act(id)).toMatchObject({ status: 409, body: { code: 'deployment_ended' } })
  }
})

test('requests wake a sleeping deployment once, and all of them are answered', async () => {
  const id = await fallAsleep()
  expect((await client.get('/v1/models')).body.data).toContainEqual(
    expect.objectContaining({ id: 'berth-tiny', deployments: [id] }),
  )
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: '…' }) })
  const asked = Array.from({ length: 100 }, () => chat('berth-tiny'))
  await waitForStatus(client, id, 'deploying')
  await vi.waitFor(() => expect(server.application.inference.waking.held).toBe(100), patience)
  serve()
  expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]))
  expect(countStarts(id)).toBe(2)
  expect(
    (await listMessages(id)).filter((message) => message.startsWith('Woken by a chat request')),
  ).toHaveLength(1)
  expect(server.application.inference.waking.held).toBe(0)
})

test('a request that is not patient gets 503 deployment_waking with Retry-After', async () => {
  const id = await fallAsleep()
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: '…' }) })
  const refused = await chat(id, { 'x-scale-up-timeout': '1' })
  expect(refused).toMatchObject({ status: 503, body: { error: { code: 'deployment_waking' } } })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
})

test('a wake that finds no hardware returns to sleep and says why; requests get 503 no_capacity', async () => {
  const id = await fallAsleep()
  runtime.answer({ provision: () => ({ outcome: 'refused', code: 'no_capacity', message: 'All taken.' }) })
  expect(await chat(id)).toMatchObject({ status: 503, body: { error: { code: 'no_capacity' } } })
  expect(await waitForStatus(client, id, 'sleeping')).toMatchObject({
    status_message: 'All taken.',
    failure_stage: null,
  })
  expect(await listMessages(id)).toContainEqual('All taken. The deployment sleeps on.')
  expect((await listTransitions(id)).slice(-3)).toMatchObject([
    { at: 'provisioning', type: 'wake', cause: 'request', route: '/v1/chat/completions' },
    { at: 'provisioning', type: 'sleep', cause: 'refusal', phases: null },
    { at: 'sleeping', type: 'sleep', cause: 'refusal', phases: [{ phase: 'release' }] },
  ])
  runtime.reset()
  serve()
  expect((await askWhileLocked(id)).status).toBe(200)
  expect(await read(id)).toMatchObject({ status: 'running', status_message: null })
})

/** Sends a request whose wake waits for a lock, while other deployments change. */
async function askWhileLocked(id: string) {
  const { db, inference } = server.application
  const asked = await db.transaction().execute(async (transaction) => {
    await transaction.selectFrom('deployments').select('id').where('id', '=', id).forUpdate().execute()
    const answered = chat(id)
    await vi.waitFor(() => expect(inference.waking.held).toBe(1), patience)
    await notify(db, 'deployment_changed', '0')
    // The check of the requests that wait takes two turns of the event loop and a query.
    await new Promise((resolve) => setTimeout(resolve, 100))
    return { answered }
  })
  return asked.answered
}

test('a request begins to wait while the requests of another deployment go on: it wakes its own', async () => {
  const { db, inference } = server.application
  const [first, second] = await Promise.all([fallAsleep(), fallAsleep()])
  runtime.answer({ ensureEngine: () => ({ phase: 'starting', message: '…' }) })
  const asked = [chat(first)]
  await vi.waitFor(() => expect(inference.waking.held).toBe(1), patience)
  await db.transaction().execute(async (transaction) => {
    // The request goes on once its caller's access is confirmed, which reads this table.
    await sql`LOCK TABLE passkeys IN ACCESS EXCLUSIVE MODE`.execute(transaction)
    serve()
    await vi.waitFor(async () => {
      const { rows } = await sql`SELECT FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock'`.execute(db)
      expect(rows).toHaveLength(1)
    }, patience)
    asked.push(chat(second))
    await vi.waitFor(() => expect(inference.waking.held).toBe(2), patience)
  })
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200])
})

test('an engine that fails to start after a wake: the request gets the cause, and the engine starts again', async () => {
  const id = await fallAsleep()
  runtime.answer({
    ensureEngine: () => ({ phase: 'failed', stage: 'model_launch', code: 'launch_rejected', message: 'No.' }),
  })
  expect(await chat(id)).toMatchObject({ status: 503, body: { error: { code: 'deployment_not_ready' } } })
  serve()
  await waitForStatus(client, id, 'running')
})

test('a request in flight is finished before the instance is released', async () => {
  const { id } = await deploy(client)
  const held: ServerResponse[] = []
  engine.answer((response) => void held.push(response))
  const asked = chat(id)
  await vi.waitFor(() => expect(held).toHaveLength(1), patience)
  await sleep(id)
  await vi.waitFor(async () => expect((await read(id)).waiting_for).toBe('drain'), patience)
  // Only a reported load holds an instance: the pause that is cut short below is longer than a report takes.
  const isReported = async () => expect((await read(id)).instances).toMatchObject([{ in_flight: 1 }])
  await vi.waitFor(isReported, patience)
  await sql`UPDATE instances SET status_changed_at = status_changed_at - interval '5 seconds'
    WHERE deployment_id = ${id}`.execute(server.application.db)
  await checkNow(server, id)
  expect(await read(id)).toMatchObject({
    status: 'running',
    instances: [{ status: 'draining', in_flight: 1 }],
  })
  answerJson(held[0]!, answer)
  expect((await asked).status).toBe(200)
  await waitForStatus(client, id, 'sleeping')
})

test('a request that arrives before the release keeps the deployment awake', async () => {
  const { id } = await deploy(client)
  const { pace } = server.application.config
  const { drainNotice } = pace
  onTestFinished(() => void Object.assign(pace, { drainNotice }))
  pace.drainNotice = 30_000
  await sleep(id)
  await vi.waitFor(async () => expect((await read(id)).waiting_for).toBe('drain'), patience)
  expect((await chat(id)).status).toBe(200)
  expect(await read(id)).toMatchObject({ status: 'running', waiting_for: null })
  expect(countStarts(id)).toBe(1)
})

test('people who wake a deployment at the same time while it falls asleep wake it once', async () => {
  const { id } = await deploy(client)
  await sleep(id)
  const woken = await Promise.all(Array.from({ length: 10 }, () => wake(id)))
  expect(new Set(woken.map(({ status }) => status))).toEqual(new Set([200]))
  expect((await listMessages(id)).filter((message) => message.startsWith('Woken by'))).toHaveLength(1)
})

/** Makes it look as if the deployment had no requests for so long. */
async function makeIdle(id: string, minutes: number): Promise<void> {
  const { db } = server.application
  const at = new Date(Date.now() - minutes * 60_000)
  await db.updateTable('instances').set({ status_changed_at: at }).where('deployment_id', '=', id).execute()
  await sql`UPDATE instance_loads SET used_at = ${at} FROM instances
    WHERE instances.id = instance_loads.instance_id AND deployment_id = ${id}`.execute(db)
  await db
    .updateTable('deployments')
    .set({ reconcile_at: new Date(0) })
    .where('id', '=', id)
    .execute()
}

const user = { role: 'user', content: 'Hello' }

test('counting tokens, and what every engine refuses, wakes nothing', async () => {
  const id = await fallAsleep()
  const counts = [
    ['/tokenize', { prompt: 'Hello' }],
    ['/v1/messages/count_tokens', { messages: [user] }],
  ] as const
  for (const [route, body] of counts) {
    const answer = await client.post(route, { model: id, ...body })
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([
      503,
      expect.stringContaining('counting tokens does not wake it'),
    ])
  }
  const refused: [string, object][] = [
    ...[{}, { messages: 'x' }, { messages: [] }, { messages: null }, { messages: {} }].flatMap(
      (body): [string, object][] => [
        ['/v1/chat/completions', body],
        ['/v1/messages', { ...body, max_tokens: 1 }],
      ],
    ),
    ['/v1/completions', {}],
    ['/v1/completions', { prompt: [] }],
    ['/v1/responses', { input: [] }],
    ['/v1/responses', { input: 7 }],
    ['/v1/embeddings', { input: 'Hello' }],
  ]
  for (const [route, body] of refused) {
    const { status } = await client.post(route, { model: id, ...body })
    expect([route, body, status]).toEqual([route, body, 400])
  }
  expect(await read(id)).toMatchObject({ status: 'sleeping' })
  expect(countStarts(id)).toBe(1)
  expect((await client.post('/v1/completions', { model: id, prompt: '' })).status).toBe(200)
})

test('counting tokens, and what the engine refuses, keeps no deployment awake', async () => {
  const { id } = await deploy(client)
  await client.patch(`${path}/${id}`, { idle_minutes: 1 })
  const before = engine.requests.length
  engine.answer((response, { path: asked }) =>
    asked === '/v1/chat/completions' ? answerJson(response, '{"error":{}}', 400) : answerJson(response, '{}'),
  )
  const ask = async () => {
    await client.post('/tokenize', { model: id, prompt: 'Hello' })
    await client.post('/v1/messages/count_tokens', { model: id, messages: [user] })
    return client.post('/v1/chat/completions', { model: id, messages: 'x' })
  }
  expect((await ask()).status).toBe(400)
  expect(engine.requests.slice(before).map((request) => request.path)).toEqual([
    '/tokenize',
    '/tokenize',
    '/v1/chat/completions',
  ])
  await makeIdle(id, 2)
  await vi.waitFor(async () => {
    await ask()
    expect((await read(id)).status).toBe('sleeping')
  }, patience)
})

test('PATCH …/{id} idle_minutes: asleep after so many minutes without requests, unless one is in flight', async () => {
  const { id } = await deploy(client)
  const { body } = await client.patch(`${path}/${id}`, { idle_minutes: 1 })
  expect(body.policy).toEqual({
    min_instances: 1,
    max_instances: 1,
    idle_minutes: 1,
    yields: false,
    cache_scope: 'organization',
    target_concurrency: null,
    schedules: [],
  })
  expect((await chat(id)).status).toBe(200)
  const { db } = server.application
  await vi.waitFor(async () => {
    const { rows } =
      await sql`SELECT FROM instance_loads AS load JOIN instances ON instances.id = load.instance_id
      WHERE deployment_id = ${id} AND in_flight = 0`.execute(db)
    expect(rows).toHaveLength(1)
  }, patience)
  await makeIdle(id, 2)
  await waitForStatus(client, id, 'sleeping')
  expect(await listMessages(id)).toContainEqual('Falls asleep after 1 minute without requests.')
  expect((await listTransitions(id)).at(-1)).toMatchObject({ type: 'sleep', cause: 'idle', idle_minutes: 1 })
})

/** Shortens timers of this interval to half a second. */
function hurryIntervals(milliseconds: number): void {
  const original = globalThis.setInterval
  const timers = vi
    .spyOn(globalThis, 'setInterval')
    .mockImplementation((run, delay) => original(run, delay === milliseconds ? 500 : delay))
  onTestFinished(() => timers.mockRestore())
}

test('a stream that waits for ten seconds gets comments or thoughts, and then the events or an error event', async () => {
  const [served, failing, thinking] = await Promise.all([fallAsleep(), fallAsleep(), fallAsleep()])
  hurryIntervals(10_000)
  const events =
    'data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
  engine.answer((response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events))
  let isOver = false
  runtime.answer({
    ensureEngine: ({ deploymentId }) => {
      if (!isOver) return { phase: 'starting', message: '…' }
      return deploymentId !== failing
        ? { phase: 'ready', endpoint: { baseUrl: engine.url } }
        : { phase: 'failed', stage: 'model_launch', code: 'launch_rejected', message: 'No.' }
    },
  })
  const open = (model: string, route = '/v1/chat/completions') =>
    fetch(server.url + route, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        cookie: client.cookie(),
        ...(model === thinking && { 'x-berth-progress': 'reasoning' }),
      },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: 'Hello' }],
        input: 'q',
        documents: ['d'],
        stream: true,
      }),
    })
  const responses = await Promise.all([
    ...[served, failing, thinking].map((model) => open(model)),
    ...['/v1/messages', '/v1/responses'].map((route) => open(failing, route)),
  ])
  isOver = true
  for (const { status, headers } of responses) {
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
  }
  const [whole, broken, thoughts, message, response] = await Promise.all(
    responses.map((response) => response.text()),
  )
  expect(whole).toMatch(/^(: waiting .*\n\n)+data: .*Hello.*\n\ndata: \[DONE\]\n\n$/s)
  expect(broken).toMatch(/^(: waiting .*\n\n)+data: \{"error":.*"code":"deployment_not_ready".*\}\n\n$/s)
  expect(message).toMatch(
    /^(event: ping\ndata: \{"type":"ping"\}\n\n)+event: error\ndata: \{"type":"error","error":\{.*\}\n\n$/,
  )
  expect(response).toMatch(
    /^(: waiting .*\n\n)+event: error\ndata: \{"type":"error".*"code":"deployment_not_ready".*"error":\{.*\}\n\n$/,
  )
  const [thought, ...later] = thoughts!.split('\n\n').map((event) => event.replace('data: ', ''))
  expect(JSON.parse(thought!)).toEqual({
    id: expect.stringMatching(/^chatcmpl-/),
    object: 'chat.completion.chunk',
    created: expect.any(Number),
    model: thinking,
    choices: [
      {
        index: 0,
        delta: { role: 'assistant', reasoning_content: `${thinking} is waking up: 10 seconds so far.\n` },
        finish_reason: null,
      },
    ],
  })
  expect(later.join('\n')).toContain('Hello')
})

test('a budget with at_limit sleep: its deployments fall asleep, and requests get 429 insufficient_quota', async () => {
  const { id } = await deploy(client)
  const budget = { scope: 'deployment', scope_id: id, monthly_limit: '0.000001', at_limit: 'sleep' }
  expect((await client.post('/v1/billing/budgets', budget)).status).toBe(200)
  await vi.waitFor(async () => {
    await checkBudgets(server.application, (each) => sleepOverBudget(server.application, each))
    expect((await read(id)).waiting_for).toBe('drain')
  }, patience)
  await waitForStatus(client, id, 'sleeping')
  expect(await chat(id)).toMatchObject({ status: 429, body: { error: { code: 'insufficient_quota' } } })
  expect(await wake(id)).toMatchObject({ status: 409, body: { code: 'budget_exhausted' } })
  expect((await read(id)).status).toBe('sleeping')
})

test.each([
  [{ min_instances: 3 }, 'max_instances'],
  [{ max_instances: 101 }, 'max_instances'],
  [{ idle_minutes: 0 }, 'idle_minutes'],
  [{ target_concurrency: 0 }, 'target_concurrency'],
])('PATCH …/{id} %j: 422 on %s', async (change, field) => {
  const { id } = await deploy(client)
  const refused = await client.patch(`${path}/${id}`, change)
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ location: 'body', field }] } })
})

test('PATCH …/{id} max_instances: 409 beyond max_active_resources, which sleeping deployments count against', async () => {
  const id = await fallAsleep()
  expect(await client.patch(`${path}/${id}`, { max_instances: 51 })).toMatchObject({
    status: 409,
    body: { code: 'resource_limit_reached' },
  })
  expect((await client.patch(`${path}/${id}`, { max_instances: 50 })).status).toBe(200)
  expect(await client.post(path, { model_name: 'berth-tiny' })).toMatchObject({
    status: 409,
    body: { code: 'resource_limit_reached' },
  })
})

test('sleep and wake of others: 404', async () => {
  const { id } = await deploy(client)
  const stranger = await registerClient(server.url)
  for (const act of ['sleep', 'wake']) expect((await stranger.post(`${path}/${id}/${act}`)).status).toBe(404)
  expect((await createClient(server.url).post(`${path}/${id}/sleep`)).status).toBe(401)
})
