import { randomUUID } from 'node:crypto'
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
import type { EngineTarget } from '../../src/features/inference/targets/targets.ts'

const patience = { timeout: 60_000, interval: 50 }
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
  server = await startTestServer({ runtime, settings: { INFERENCE_FIRST_BYTE_TIMEOUT: '1m' } })
})
beforeEach(async () => {
  lostUrl = null
  runtime.reset()
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

/** Runs so many instances, each at the next engine. */
async function deployAt(used: readonly RecordingEngine[], count = used.length): Promise<string> {
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
  await client.patch(path, { min_instances: count, max_instances: count })
  await vi.waitFor(async () => {
    const { instances } = (await client.get(path)).body
    expect(instances.filter(({ status }: { status: string }) => status === 'running')).toHaveLength(count)
  }, patience)
  return id
}

const chat = (model: string, content = 'Hello') =>
  client.post('/v1/chat/completions', { model, messages: [{ role: 'user', content }] })
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

/** Starts an engine for each instance that needs one. A request with the word `poison` ends its engine. */
function startFragileEngines(): Set<RecordingEngine> {
  const byId = new Map<string, RecordingEngine>()
  const ended = new Set<RecordingEngine>()
  const start = async (): Promise<RecordingEngine> => {
    const engine = await startRecordingEngine()
    engines.push(engine)
    engine.answer((response, { body }) => {
      if (!body.includes('poison')) return answerJson(response, answer)
      ended.add(engine)
      void engine.close()
    })
    return engine
  }
  const observe = (engineId: string) => {
    const engine = byId.get(engineId)
    if (engine === undefined) return { phase: 'absent' } as const
    return ended.has(engine)
      ? ({ phase: 'failed', stage: 'runtime', code: 'engine_crashed', message: 'It crashed.' } as const)
      : ({ phase: 'ready', endpoint: { baseUrl: engine.url } } as const)
  }
  runtime.answer({
    async ensureEngine({ engineId }) {
      if (!byId.has(engineId)) byId.set(engineId, await start())
      return observe(engineId)
    },
    observeEngine: (_id, engineId) => observe(engineId),
    stopEngine: (_id, engineId) => byId.delete(engineId) || true,
  })
  return ended
}

test('a request that ends engines on open connections ends two, and never the deployment', async () => {
  const ended = startFragileEngines()
  const { id } = await deploy(client)
  const path = `/api/v1/model-deployments/${id}`
  deploymentId = id
  await client.patch(path, { min_instances: 3, max_instances: 3 })
  await vi.waitFor(async () => {
    // Each instance has its own conversations.
    const asked = Array.from({ length: 12 }, () => chat(id, randomUUID()))
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200)
    expect(engines.slice(3).filter(({ requests }) => requests.length > 0)).toHaveLength(3)
  }, patience)
  const refused = { status: 502, body: { error: { code: 'upstream_unavailable' } } }
  expect(await chat(id, 'poison')).toMatchObject(refused)
  expect(ended.size).toBe(2)
  for (const most of [4, 6]) {
    await vi.waitFor(async () => expect((await chat(id)).status).toBe(200), patience)
    await chat(id, 'poison')
    expect(ended.size).toBeLessThanOrEqual(most)
  }
  await vi.waitFor(async () => expect((await chat(id)).status).toBe(200), patience)
})

/** The targets that the server has in memory for a deployment whose engines answer */
async function readCachedTargets(id: string): Promise<readonly EngineTarget[]> {
  const get = vi.spyOn(server.application.inference.targets, 'get')
  try {
    return await vi.waitFor(async () => {
      await chat(id)
      const targets = get.mock.results.at(-1)!.value as readonly EngineTarget[] | undefined
      expect(targets).toBeDefined()
      return targets!
    }, patience)
  } finally {
    get.mockRestore()
  }
}

/** Lets the next request find these targets, as in a process that learns late of a change. */
function learnLate(targets: readonly EngineTarget[]): void {
  vi.spyOn(server.application.inference.targets, 'get').mockImplementationOnce(() => targets)
}

async function countMetered(id: string): Promise<number> {
  await server.application.tokens.flush()
  return (await client.get(`/api/v1/model-deployments/${id}/usage`)).body.requests
}

test('a request reaches an instance that was released: it wakes the deployment and is metered once', async () => {
  const used = engines.slice(0, 2)
  for (const engine of used) engine.answer((response) => answerJson(response, answer))
  const id = await deployAt(used, 1)
  const released = (await readCachedTargets(id)).map((each) => ({ ...each, origin: 'http://127.0.0.1:9' }))
  await client.post(`/api/v1/model-deployments/${id}/sleep`)
  await waitForStatus(client, id, 'sleeping')
  const metered = await countMetered(id)
  const refuse = () => ({ outcome: 'refused', code: 'no_capacity', message: 'All are taken.' }) as const
  const instance = {
    instanceId: 'i',
    clusterId: 'c',
    gpuAllocationId: 'g',
    region: 'r',
    startedAt: new Date(),
  }
  runtime.answer({ provision: refuse })
  learnLate(released)
  expect(await chat(id)).toMatchObject({ status: 503, body: { error: { code: 'no_capacity' } } })
  runtime.answer({ provision: () => ({ outcome: 'provisioned', instance }) })
  learnLate(released)
  expect((await chat(id)).status).toBe(200)
  expect(used[1]!.requests).toHaveLength(1)
  expect(await countMetered(id)).toBe(metered + 1)
})

test('an engine breaks off, and the process has not learned of others: one of them gets the request, and no third one', async () => {
  for (const engine of engines) engine.answer((response) => answerJson(response, answer))
  const id = await deployAt(engines)
  const [first] = await readCachedTargets(id)
  const broken = engines.find(({ url }) => url.startsWith(first!.origin))!
  broken.answer((response) => void response.destroy())
  learnLate([first!])
  expect((await chat(id)).status).toBe(200)
  for (const engine of engines) engine.requests.length = 0
  for (const engine of engines) engine.answer((response) => void response.destroy())
  learnLate([first!])
  expect(await chat(id)).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } })
  expect(engines.filter(({ requests }) => requests.length > 0)).toHaveLength(2)
})
