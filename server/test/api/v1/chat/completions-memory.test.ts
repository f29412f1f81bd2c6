import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createApplication } from '../../../../src/wiring/create-application.ts'
import type { Application } from '../../../../src/wiring/application.ts'
import type { App } from '../../../../src/http/app.ts'
import { buildServer } from '../../../../src/process/server.ts'
import { createClient, registerClient } from '../../../support/client.ts'
import { deploy } from '../../../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/chat/completions'
const patience = { timeout: 20_000, interval: 10 }

let engine: RecordingEngine
let server: TestServer
let now = () => new Date()
/** Acts as a second process of the installation: it shares only the database. */
let other: { application: Application; app: App; url: string }
beforeAll(async () => {
  engine = await startRecordingEngine()
  const runtime = createScriptedRuntime(engine.url)
  server = await startTestServer({ runtime, clock: () => now() })
  const { config, log } = server.application
  const application = await createApplication(
    { ...config, role: 'api' },
    { log, runtime, clock: () => now() },
  )
  const app = await buildServer(application)
  other = { application, app, url: await app.listen({ host: '127.0.0.1', port: 0 }) }
})
afterAll(async () => {
  other.app.server.closeAllConnections()
  await other.app.close()
  await other.application.close()
  await server.close()
  await engine.close()
})

/** Registers a user with a running deployment, cached by both processes. */
async function register() {
  const person = await registerClient(server.url)
  const { id } = await deploy(person)
  const elsewhere = createClient(other.url)
  elsewhere.setCookie(person.cookie())
  const ask = async () => (await elsewhere.post(path, { model: id })).status
  engine.answer((response) => answerJson(response, '{}'))
  await vi.waitFor(async () => expect(await ask()).toBe(200), patience)
  return { person, elsewhere, id, ask }
}

/** Sends requests for a while, then returns the status of one more. */
async function statusAfter(ask: () => Promise<number>, milliseconds: number): Promise<number> {
  const since = performance.now()
  while (performance.now() - since < milliseconds) await ask()
  return ask()
}

test('cached requests run no query', async () => {
  const { ask } = await register()
  await ask()
  const before = other.application.sessions.size()
  expect(before).toBeGreaterThan(0)
  const spy = vi.spyOn(other.application.db, 'selectFrom')
  for (let count = 0; count < 5; count += 1) expect(await ask()).toBe(200)
  expect(spy).not.toHaveBeenCalled()
  spy.mockRestore()
})

test.each<[string, (registered: Awaited<ReturnType<typeof register>>) => Promise<unknown>, number]>([
  ['a sign-out', ({ person }) => person.post('/v1/user/logout'), 401],
  [
    'a new sign-in',
    ({ person }) => person.post('/v1/user/signin', { email: person.email, password: person.password }),
    401,
  ],
  [
    'the deletion of all sessions',
    ({ person }) =>
      sql`DELETE FROM sessions WHERE user_id = (SELECT id FROM users WHERE email = ${person.email})`.execute(
        server.application.db,
      ),
    401,
  ],
  ['a deleted deployment', ({ person, id }) => person.delete(`/api/v1/model-deployments/${id}`), 404],
])('%s on one process takes effect on another within a second', async (_what, revoke, status) => {
  const registered = await register()
  await revoke(registered)
  expect(await statusAfter(registered.ask, 1_000)).toBe(status)
})

test('a session that ends while the listener is disconnected is rejected within a second', async () => {
  const { person, ask } = await register()
  await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'berth listener' AND datname = current_database()`.execute(server.application.db)
  await person.post('/v1/user/logout')
  expect(await statusAfter(ask, 1_000)).toBe(401)
})

test('a session that is due for renewal is renewed once, with a new cookie', async () => {
  const { person, elsewhere, id } = await register()
  now = () => new Date(Date.now() + 2 * 3_600_000)
  try {
    const answer = await elsewhere.post(path, { model: id })
    expect(answer.status).toBe(200)
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^berth_session=.+; Expires=.+; HttpOnly/),
    ])
    expect(elsewhere.cookie()).toBe(person.cookie())
    expect((await elsewhere.post(path, { model: id })).headers.getSetCookie()).toEqual([])
  } finally {
    now = () => new Date()
  }
})

test('a request writes one access log line without prompt or completion, and updates the metrics', async () => {
  const { elsewhere, id } = await register()
  engine.answer((response) =>
    answerJson(response, '{"secret answer":1,"usage":{"prompt_tokens":3,"completion_tokens":4}}'),
  )
  const before = server.logs.length
  const metrics = () => createClient(other.url).get<string>('/metrics')
  const count = async (name: string) =>
    Number(
      new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (\\S+)$`, 'm').exec((await metrics()).body)?.[1] ?? 0,
    )
  const input = 'berth_inference_tokens_total{model="berth-tiny",direction="input"}'
  const tokens = await count(input)
  await elsewhere.post(path, { model: id, messages: [{ role: 'user', content: 'secret question' }] })
  const isRequest = (line: string) => line.includes(`"deployment":"${id}"`) && line.includes('"request"')
  const lines = () => server.logs.slice(before).filter(isRequest)
  await vi.waitFor(() => expect(lines()).toHaveLength(1), patience)
  expect(JSON.parse(lines()[0]!)).toMatchObject({
    msg: 'request',
    route: path,
    status: 200,
    model: 'berth-tiny',
    input_tokens: 3,
    output_tokens: 4,
  })
  expect(server.logs.slice(before).join()).not.toContain('secret')
  expect(await count(input)).toBe(tokens + 3)
  const { body } = await metrics()
  for (const name of [
    'requests_total',
    'first_byte_seconds_bucket',
    'duration_seconds_bucket',
    'overhead_seconds_bucket',
  ]) {
    expect(body).toContain(`berth_inference_${name}{`)
  }
  expect(body).toContain('berth_inference_in_flight 0')
})
