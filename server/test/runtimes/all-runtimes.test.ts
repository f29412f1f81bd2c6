// Real components at once: this machine, Xinference, llama-server as an endpoint, and a cluster of Kubernetes
// if there is one.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startLlamaServers } from '../endpoints/real-server.ts'
import type { RealServer } from '../endpoints/real-server.ts'
import { configureServer } from '../kubernetes/nodes/server.ts'
import { nodeCommand, openNodeTestBed } from '../kubernetes/nodes/support.ts'
import type { NodeTestBed } from '../kubernetes/nodes/support.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { openServedDeployments } from '../support/served-deployments.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { describeChatModel, openCluster } from '../xinference/real/cluster.ts'
import type { XinferenceCluster } from '../xinference/real/cluster.ts'
import { isAlive } from '../support/process.ts'

type Name = 'local' | 'kubernetes' | 'xinference' | 'endpoints'

const path = '/api/v1/model-deployments'
const waiting = { timeout: 600_000, interval: 500 }
const names = (['local', 'kubernetes', 'xinference', 'endpoints'] as const).filter(
  (name) => name !== 'kubernetes' || nodeCommand !== undefined,
)
const engines = names.filter((name) => name !== 'endpoints')
const types = { local: 'local-cpu', kubernetes: 'l4-x1', xinference: 'xinference-cpu' }

let xinference: XinferenceCluster
let outside: RealServer
let testBed: NodeTestBed
let server: TestServer
let client: Client
const served = openServedDeployments<Name>(() => client, names, waiting.timeout)
const { ids, chat, waitForMessage, waitForAnswer, whileOthersServe } = served
const cleanUps: (() => Promise<unknown> | undefined)[] = []

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-runtimes-'))
  cleanUps.push(() => rm(folder, { recursive: true, force: true }))
  outside = await startLlamaServers()
  cleanUps.push(() => outside.close())
  xinference = await openCluster({ XINFERENCE_ENABLE_VIRTUAL_ENV: '0' })
  cleanUps.push(() => xinference.close())
  await xinference.startSupervisor()
  await xinference.startWorker()
  await xinference.register('LLM', describeChatModel(xinference.folder))
  if (nodeCommand !== undefined) {
    testBed = await openNodeTestBed()
    cleanUps.push(() => testBed.close())
  }
  server = await startTestServer({
    settings: {
      ...(nodeCommand !== undefined && (await configureServer(testBed, folder))),
      RUNTIME: names.join(','),
      XINFERENCE_URLS: xinference.url,
      ENDPOINT_NETWORKS: '127.0.0.0/8',
    },
  })
  cleanUps.push(() => server.close())
  client = await registerClient(server.url)
})
afterAll(async () => {
  for (const step of cleanUps.toReversed()) await step()
})

const readInstance = async (name: Name) =>
  (await client.get(`${path}/${ids[name]}`)).body.instances[0].id as string

test('one plan compares the offers of all, and says where each is', async () => {
  const { body } = await client.post(`${path}/plan`, { model_name: 'berth-tiny' })
  const offers = body.considered.map((one: Record<string, unknown>) => [
    one['instance_type'],
    one['cluster_id'],
  ])
  console.log('considered:', JSON.stringify(offers))
  for (const name of engines) {
    expect(offers).toContainEqual([types[name], expect.stringMatching(new RegExp(`^${name}`))])
  }
})

test('each runtime serves its deployment', async () => {
  for (const name of engines) {
    const created = await client.post(path, { model_name: 'berth-tiny', instance_type: types[name] })
    expect(created.status, JSON.stringify(created.body)).toBe(201)
    ids[name] = created.body.id
  }
  const { url, key, model } = outside.chat
  const settings = { name: 'Lab', base_url: `${url}/v1`, key, models: [{ name: model }] }
  const added = await client.post('/api/v1/endpoints', settings)
  expect(added.status, JSON.stringify(added.body)).toBe(201)
  expect(added.body.status).toBe('ready')
  ids.endpoints = (await client.post(path, { model_name: model })).body.id
  for (const name of names) {
    const running = await waitForStatus(client, ids[name], 'running', waiting.timeout)
    const cluster = name === 'endpoints' ? added.body.id : name
    expect(running.cluster_id).toMatch(new RegExp(`^${cluster}`))
  }
  for (const name of names) {
    expect((await chat(name)).body).toMatchObject({ usage: { completion_tokens: expect.any(Number) } })
  }
})

/** Kills what serves a deployment, and resolves when it serves again. */
const losses: Record<Name, () => Promise<void>> = {
  async local() {
    const folder = join(server.dataDirectory, 'engines', await readInstance('local'))
    const { pid } = JSON.parse(await readFile(join(folder, 'engine.json'), 'utf8'))
    process.kill(pid, 'SIGKILL')
    await vi.waitUntil(() => !isAlive(pid), waiting)
    await waitForAnswer('local')
  },
  async kubernetes() {
    const readPod = async () => testBed.findPod(await readInstance('kubernetes'))
    const countStarts = async () => (await readPod()).status?.containerStatuses?.[0]?.restartCount
    const before = await countStarts()
    const { spec } = await readPod()
    await testBed.runOnNode(spec?.nodeName ?? '', 'pkill -KILL -x llama-server')
    await vi.waitFor(async () => expect(await countStarts()).not.toBe(before), waiting)
    await waitForAnswer('kubernetes')
  },
  async xinference() {
    await xinference.killWorker()
    await xinference.killSupervisor()
    await waitForMessage('xinference', expect.stringContaining('Xinference is unreachable'))
    expect((await chat('xinference')).status).not.toBe(200)
    await xinference.startSupervisor()
    await xinference.startWorker()
    await waitForAnswer('xinference')
  },
  async endpoints() {
    await outside.kill()
    await waitForAnswer('endpoints', 502)
    await waitForMessage('endpoints', expect.stringContaining('The endpoint does not respond'))
    await outside.start()
    await waitForAnswer('endpoints')
  },
}

test.each(names)('%s is killed and comes back, while no request to the others fails', async (name) => {
  const startedAt = performance.now()
  const counts = await whileOthersServe(name, losses[name])
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  console.log(`${name} answered again after ${seconds} s; answers of the others: ${JSON.stringify(counts)}`)
  await waitForMessage(name, null)
})
