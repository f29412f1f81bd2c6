import type { AddressInfo } from 'node:net'
import type { ServerResponse } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { buildServer } from '../../src/process/server.ts'
import { createApplication } from '../../src/wiring/create-application.ts'
import { changeConfig } from '../support/change-config.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const path = '/api/v1/model-deployments'
const patience = { timeout: 60_000, interval: 100 }
const answer =
  '{"choices":[{"message":{"content":"Hello"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'
const runtime = createScriptedRuntime()
const settings = { SECRET_KEY: 'k'.repeat(32), BILLING_TRIAL_MAX_ACTIVE: '50' }
const config = { inference: { limits: { perInstance: 2, queueMilliseconds: 60_000 } } }
const cleanup = new AsyncDisposableStack()
/** The engines of a deployment in the order of their start, and the requests that each holds back */
const places = new Map<string, string[]>()
const held: ServerResponse[][] = [[], []]

let server: TestServer
let otherUrl: string
let engines: RecordingEngine[]
let client: Client
let other: Client
beforeAll(async () => {
  engines = await Promise.all([1, 2].map(() => startRecordingEngine()))
  server = await startTestServer({ runtime, settings, config })
  otherUrl = await startOtherProcess()
})
beforeEach(async () => {
  client = await registerClient(server.url)
  other = createClient(otherUrl)
  other.setCookie(client.cookie())
  for (const [place, engine] of engines.entries()) {
    held[place]!.length = 0
    engine.answer((response) => void held[place]!.push(response))
  }
  serve(() => true)
})
afterEach(() => runtime.reset())
afterAll(async () => {
  await cleanup.disposeAsync()
  await server.close()
  await Promise.all(engines.map((engine) => engine.close()))
})

/** A second server process's API on the same database. */
async function startOtherProcess(): Promise<string> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'berth-other-'))
  cleanup.defer(() => rm(dataDirectory, { recursive: true, force: true }))
  const { databaseUrl } = server.application.config
  const own = { ...settings, ROLE: 'api', PORT: '0', DATABASE_URL: databaseUrl!, DATA_DIR: dataDirectory }
  const application = await createApplication(changeConfig(readConfig(own), config), {
    log: server.application.log,
    runtime,
  })
  cleanup.defer(() => application.close())
  const app = await buildServer(application)
  cleanup.defer(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

/** Lets the engines at these places be ready; the others start. */
function serve(isReady: (place: number) => boolean): void {
  const observe = (deploymentId: string, engineId: string) => {
    const own = places.get(deploymentId) ?? []
    if (!own.includes(engineId)) places.set(deploymentId, [...own, engineId])
    const place = places.get(deploymentId)!.indexOf(engineId) % engines.length
    if (!isReady(place)) return { phase: 'starting', message: '…' } as const
    return { phase: 'ready', endpoint: { baseUrl: engines[place]!.url } } as const
  }
  runtime.answer({
    ensureEngine: ({ deploymentId, engineId }) => observe(deploymentId, engineId),
    observeEngine: observe,
  })
}

const read = async (id: string) => (await client.get(`${path}/${id}`)).body
const chat = (caller: Client, model: string) =>
  caller.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] })

async function expectAnswers(asked: readonly ReturnType<typeof chat>[]): Promise<void> {
  const all = Promise.all(asked)
  const answering = setInterval(() => {
    for (const responses of held) for (const each of responses.splice(0)) answerJson(each, answer)
  }, 20)
  try {
    expect((await all).map(({ status }) => status)).toEqual(asked.map(() => 200))
  } finally {
    clearInterval(answering)
  }
}

test('the load of two API processes is summed, and queued requests go to the instance that it starts', async () => {
  const { id } = await deploy(client)
  serve((place) => place === 0)
  await client.patch(`${path}/${id}`, { max_instances: 2, target_concurrency: 3 })
  // Each process sends two, and keeps two in its queue. Neither alone asks for a second instance.
  const asked = [client, client, client, other, other, other].map((caller) => chat(caller, id))
  await vi.waitFor(async () => expect((await read(id)).instances).toHaveLength(2), patience)
  expect(held[1]).toHaveLength(0)
  expect(held[0]).toHaveLength(4)
  serve(() => true)
  await vi.waitFor(() => expect(held[1]).toHaveLength(2), patience)
  await expectAnswers(asked)
})

test('requests that wait for a sleeping deployment count as load before an instance is ready', async () => {
  const { id } = await deploy(client)
  await client.patch(`${path}/${id}`, { max_instances: 2, target_concurrency: 1 })
  expect((await client.post(`${path}/${id}/sleep`)).status).toBe(200)
  await waitForStatus(client, id, 'sleeping')
  serve(() => false)
  const asked = [client, other].map((caller) => chat(caller, id))
  await vi.waitFor(async () => expect((await read(id)).instances).toHaveLength(2), patience)
  expect(await read(id)).toMatchObject({ status: 'deploying' })
  serve(() => true)
  await expectAnswers(asked)
  const events = (await client.get(`${path}/${id}/events`)).body.items
  const wakes = events.filter(({ message }: { message: string }) =>
    message.startsWith('Woken by a chat request'),
  )
  expect(wakes).toHaveLength(1)
})
