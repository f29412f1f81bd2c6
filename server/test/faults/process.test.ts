import { once } from 'node:events'
import { readFile, readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { deriveEngineKey } from '../../src/features/deployments/serving/engine-spec.ts'
import { createClient, registerClient } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import {
  createDataDirectory,
  findEngineProcesses,
  findPostmaster,
  removeDataDirectory,
  signal,
  spawnServer,
} from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'

// These tests share one DATA_DIR and depend on their order.

const prompt = 'a confidential prompt'
const longPrompt = 'a prompt in flight during the shutdown'

let dataDirectory: string
let server: ServerProcess
let cookie: string
let password: string
let deploymentId: string
let engineId: string
const outputs: (() => string)[] = []

function start(): ServerProcess {
  const started = spawnServer({ DATA_DIR: dataDirectory, LOG_LEVEL: 'trace' })
  outputs.push(() => started.output())
  return started
}

async function client() {
  const caller = createClient(await server.listening)
  caller.setCookie(cookie)
  return caller
}

async function readEvents(): Promise<unknown[]> {
  return (await (await client()).get(`/api/v1/model-deployments/${deploymentId}/events`)).body.items
}

async function expectAnswer(): Promise<void> {
  const body = { model: deploymentId, messages: [{ role: 'user', content: prompt }], max_tokens: 4 }
  const answer = await (await client()).post('/v1/chat/completions', body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
}

async function findEngine(): Promise<number> {
  const engines = await findEngineProcesses(dataDirectory)
  expect(engines).toEqual([{ pid: expect.any(Number), engineId }])
  return engines[0]!.pid
}

beforeAll(async () => {
  dataDirectory = await createDataDirectory()
  server = start()
  const registered = await registerClient(await server.listening)
  cookie = registered.cookie()
  password = registered.password
})
afterAll(async () => {
  server.child.kill('SIGKILL')
  await server.exited
  await removeDataDirectory(dataDirectory)
})

test('a server prints `listening on http://…` and serves there', async () => {
  expect(await server.listening).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  for (const path of ['/healthz', '/readyz']) {
    expect((await (await client()).get(path)).body).toEqual({ status: 'ok' })
  }
  const deployment = await deploy(await client())
  deploymentId = deployment.id
  engineId = deployment.instances[0]!.id
  await expectAnswer()
})

test('a second server with the same DATA_DIR exits with an error, and the first keeps running', async () => {
  const second = start()
  expect(await second.exited).toBe(1)
  expect(second.output()).toContain(`Another Berth server uses the DATA_DIR ${dataDirectory}`)
  await expectAnswer()
})

test(
  'SIGTERM: no new requests, connections without one close, the stream in flight is completed, exit code 0, PostgreSQL stops',
  {
    // Below the 30 s after which a server closes open connections.
    timeout: 25_000,
  },
  async () => {
    const engine = await findEngine()
    const url = await server.listening
    const items = { type: 'array', minItems: 100, maxItems: 100, items: { type: 'boolean' } }
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: deploymentId,
        messages: [{ role: 'user', content: longPrompt }],
        max_tokens: 1000,
        stream: true,
        response_format: {
          type: 'json_schema',
          json_schema: {
            name: 'flags',
            schema: {
              type: 'object',
              properties: { items },
              required: ['items'],
              additionalProperties: false,
            },
          },
        },
      }),
    })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let received = (await reader.read()).value ?? ''
    const { hostname, port } = new URL(url)
    const silent = connect(Number(port), hostname)
    const silentCloses = once(silent.resume(), 'close')
    await once(silent, 'connect')
    // Freezes the engine in the middle of its response.
    signal(engine, 'SIGSTOP')
    server.child.kill('SIGTERM')
    await expect
      .poll(() =>
        fetch(`${url}/readyz`).then(
          (answer) => answer.status,
          () => 'refused',
        ),
      )
      .not.toBe(200)
    await expect
      .poll(() =>
        fetch(`${url}/healthz`).then(
          (answer) => answer.status,
          () => 'refused',
        ),
      )
      .toBe('refused')
    await silentCloses
    expect(received).not.toContain('[DONE]')
    expect(server.child.exitCode).toBeNull()
    signal(engine, 'SIGCONT')
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      received += value
    }
    expect(received).toMatch(/data: \[DONE\]\s+$/)
    expect(await server.exited).toBe(0)
    expect(await findPostmaster(dataDirectory)).toBeNull()
    expect(await findEngine()).toBe(engine)
  },
)

test('the next server adopts the running engine', async () => {
  const engine = await findEngine()
  server = start()
  await expectAnswer()
  expect(await findEngine()).toBe(engine)
  expect((await readEvents()).at(-1)).toMatchObject({
    status: 'running',
    message: expect.stringMatching(
      /^The model is ready for requests\. .*the start of the engine took .+ s\.$/,
    ),
  })
})

test('kill -9: the next server adopts PostgreSQL and the engine, and sessions stay valid', async () => {
  const engine = await findEngine()
  const postgres = await findPostmaster(dataDirectory)
  const events = await readEvents()
  server.child.kill('SIGKILL')
  expect(await server.exited).toBe('SIGKILL')
  server = start()
  await expectAnswer()
  expect(await findPostmaster(dataDirectory)).toBe(postgres)
  expect(await findEngine()).toBe(engine)
  expect(await readEvents()).toEqual(events)
})

test('a server starts its killed PostgreSQL again, and its log names the signal and PostgreSQL’s log', async () => {
  const isReady = async () => (await (await client()).get('/readyz?database=required')).status
  // The server has adopted the first PostgreSQL and starts the second one itself.
  for (const what of [/exited unexpectedly/, /exited unexpectedly \(SIGKILL\)/]) {
    const postmaster = (await findPostmaster(dataDirectory))!
    signal(postmaster, 'SIGKILL')
    await expect.poll(() => findPostmaster(dataDirectory)).not.toBe(postmaster)
    await expect.poll(() => findPostmaster(dataDirectory)).not.toBeNull()
    await expect.poll(isReady).toBe(200)
    expect(server.output()).toMatch(what)
    await expectAnswer()
  }
  expect(server.output()).toMatch(/Its log \S+postgresql\.log ends with/)
  expect(server.output()).not.toContain('connectionParameters')
  expect(server.child.exitCode).toBeNull()
})

test('a server survives the end of one PostgreSQL process, and its log names the signal', async () => {
  const postmaster = (await findPostmaster(dataDirectory))!
  const children = (await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8'))
    .trim()
    .split(' ')
  const commands = await Promise.all(
    children.map(async (pid) => ({ pid, command: await readFile(`/proc/${pid}/cmdline`, 'utf8') })),
  )
  signal(Number(commands.find(({ command }) => command.includes('berth berth'))!.pid), 'SIGKILL')
  await expect
    .poll(() => server.output())
    .toMatch(/terminated by signal 9.*the lock on DATA_DIR is interrupted/)
  await expect.poll(async () => (await (await client()).get('/readyz?database=required')).status).toBe(200)
  await expectAnswer()
  expect(await findPostmaster(dataDirectory)).toBe(postmaster)
  expect(server.child.exitCode).toBeNull()
})

test('no log contains a password, cookie, key or prompt', async () => {
  await (await client()).delete(`/api/v1/model-deployments/${deploymentId}`)
  await expect.poll(() => findEngineProcesses(dataDirectory)).toEqual([])
  server.child.kill('SIGTERM')
  expect(await server.exited).toBe(0)
  const secretKey = (await readFile(join(dataDirectory, 'secret-key'), 'utf8')).trim()
  const credentialsFile = join(dataDirectory, 'postgres', 'cluster', 'credentials.json')
  const credentials = JSON.parse(await readFile(credentialsFile, 'utf8'))
  expect(credentials.application).toMatch(/^[0-9a-f]{48}$/)
  const secrets = [
    password,
    cookie.slice(cookie.indexOf('=') + 1),
    secretKey,
    deriveEngineKey(secretKey, deploymentId),
    prompt,
    longPrompt,
    credentials.application,
    credentials.superuser,
  ]
  const postgresLog = await readFile(join(dataDirectory, 'postgres', 'postgresql.log'), 'utf8')
  const written = [...outputs.map((output) => output()), postgresLog].join('\n')
  expect(written).toContain('shutting down')
  for (const secret of secrets) expect(written).not.toContain(secret)
})

test('a start with a used DATA_DIR leaves compiled code there for the next one', async () => {
  const directory = await createDataDirectory()
  onTestFinished(() => removeDataDirectory(directory))
  // The first start finds an empty folder, which it leaves alone until it has checked it.
  for (const _start of ['first', 'second']) {
    // Without the cache that the servers of all tests share
    const started = spawnServer({ DATA_DIR: directory, NODE_COMPILE_CACHE: '' })
    await started.listening
    started.child.kill('SIGTERM')
    expect(await started.exited).toBe(0)
  }
  const compiled = await readdir(join(directory, 'compile-cache', 'node'), { recursive: true })
  expect(compiled.length).toBeGreaterThan(200)
})
