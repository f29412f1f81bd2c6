import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const patience = { timeout: 30_000, interval: 50 }
const answer =
  '{"choices":[{"message":{"content":"Hello"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}'
const runtime = createScriptedRuntime()
/** The engine whose instance the runtime reports as lost */
let lostUrl: string | null

let server: TestServer
let engines: RecordingEngine[]
let client: Client
let deploymentId: string
beforeAll(async () => {
  server = await startTestServer({ runtime, settings: { INFERENCE_FIRST_BYTE_TIMEOUT_MS: '60000' } })
})
beforeEach(async () => {
  lostUrl = null
  // A connection that an earlier test left open would be stale.
  engines = await Promise.all([1, 2, 3].map(() => startRecordingEngine()))
  client = await registerClient(server.url)
})
afterEach(async () => {
  // A deployment that stays takes engines of the next test.
  await client.delete(`/api/v1/model-deployments/${deploymentId}`)
  await waitForStatus(client, deploymentId, 'terminated')
  await Promise.all(engines.map((engine) => engine.close()))
})
afterAll(() => server.close())

/** Runs one instance at each engine. */
async function deployAt(used: readonly RecordingEngine[]): Promise<string> {
  const places = new Map<string, string>()
  const serve = (engineId: string) => {
    const url = places.get(engineId) ?? used[places.size % used.length]!.url
    places.set(engineId, url)
    return url === lostUrl
      ? ({ phase: 'starting', message: 'The engine is not answering its health check.' } as const)
      : ({ phase: 'ready', endpoint: { baseUrl: url } } as const)
  }
  runtime.answer({
    ensureEngine: ({ engineId }) => serve(engineId),
    observeEngine: (_id, engineId) => serve(engineId),
  })
  const { id } = await deploy(client)
  const path = `/api/v1/model-deployments/${id}`
  deploymentId = id
  await client.patch(path, { min_instances: used.length, max_instances: used.length })
  await vi.waitFor(async () => {
    const { instances } = (await client.get(path)).body
    expect(instances.filter(({ status }: { status: string }) => status === 'running')).toHaveLength(
      used.length,
    )
  }, patience)
  return id
}

const chat = (model: string) => client.post('/v1/chat/completions', { model, messages: [] })
/** How many requests each engine got, the fewest first */
const countRequests = () =>
  engines.map(({ requests }) => requests.length).toSorted((one, other) => one - other)

/** The first engine that gets a request stays silent; the others answer. */
function silenceFirst(used: readonly RecordingEngine[]): () => RecordingEngine | undefined {
  let silent: RecordingEngine | undefined
  for (const engine of used) {
    engine.answer((response) => {
      silent ??= engine
      if (silent !== engine) answerJson(response, answer)
    })
  }
  return () => silent
}

test('an instance is lost while its engine is silent: another one gets the request', async () => {
  const used = engines.slice(0, 2)
  const id = await deployAt(used)
  const findSilent = silenceFirst(used)
  const asked = chat(id)
  await vi.waitFor(() => expect(findSilent()).toBeDefined(), patience)
  const silent = findSilent()!
  lostUrl = silent.url
  expect((await asked).status).toBe(200)
  expect(countRequests()).toEqual([0, 1, 1])
  await vi.waitFor(() => expect(silent.last().aborted).toBe(true), patience)
})

test('the only instance is lost while its engine is silent: the request waits for its answer', async () => {
  const [engine] = engines as [RecordingEngine]
  const id = await deployAt([engine])
  const responses: ServerResponse[] = []
  engine.answer((response) => void responses.push(response))
  const asked = chat(id)
  await vi.waitFor(() => expect(responses).toHaveLength(1), patience)
  lostUrl = engine.url
  await vi.waitFor(async () => {
    const { body } = await client.get(`/api/v1/model-deployments/${id}`)
    expect(body.waiting_for).toBe('engine')
  }, patience)
  answerJson(responses[0]!, answer)
  expect((await asked).status).toBe(200)
})

test('an engine breaks off before it answers: another one gets the request', async () => {
  const used = engines.slice(0, 2)
  const id = await deployAt(used)
  let isBroken = false
  for (const engine of used) {
    engine.answer((response) => {
      if (isBroken) return answerJson(response, answer)
      isBroken = true
      response.destroy()
    })
  }
  expect((await chat(id)).status).toBe(200)
  expect(countRequests()).toEqual([0, 1, 1])
})

test('a request that breaks engines gets no third one', async () => {
  const id = await deployAt(engines)
  for (const engine of engines) engine.answer((response) => void response.destroy())
  expect(await chat(id)).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } })
  expect(countRequests()).toEqual([0, 1, 1])
})
