// Real doubles at once: this machine, a cluster of Kubernetes, one of Xinference, and an endpoint.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startEngine } from '../../../engine/test/support/engine.ts'
import type { TestEngine } from '../../../engine/test/support/engine.ts'
import { sweepOrphans } from '../../src/features/deployments/fleet/sweep-orphans.ts'
import { ready, startKubernetesApi } from '../kubernetes/api-double.ts'
import type { KubernetesApi } from '../kubernetes/api-double.ts'
import { adminSettings, runAdmin } from '../support/admin.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { startEndpointDouble } from '../support/endpoint-double.ts'
import type { EndpointDouble } from '../support/endpoint-double.ts'
import { listen } from '../support/listen.ts'
import { openServedDeployments } from '../support/served-deployments.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { startXinferenceSimulator } from '../xinference/simulator/simulator.ts'
import type { XinferenceSimulator } from '../xinference/simulator/simulator.ts'

const path = '/api/v1/model-deployments'
const everything = 'local,kubernetes,xinference,endpoints'
const waiting = { timeout: 60_000, interval: 100 }
const types = { local: 'local-cpu', kubernetes: 'l4-x1', xinference: 'xinference-cpu' }
type Engine = keyof typeof types
type Name = Engine | 'endpoints'
const engines = Object.keys(types) as Engine[]
const names: Name[] = [...engines, 'endpoints']

let simulator: XinferenceSimulator
let api: KubernetesApi
let pod: TestEngine
let endpoint: EndpointDouble
/** Forwards to the engine in the pod, whose key only Berth's engines have. */
async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request)
  const headers = { authorization: `Bearer ${pod.key}`, 'content-type': 'application/json' }
  const url = (await pod.ready()) + (request.url ?? '').replace(/^\/dep-[^/]+/, '')
  const method = request.method ?? 'GET'
  const answer = await fetch(url, { method, headers, ...(body.length > 0 && { body: new Uint8Array(body) }) })
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
  response.end(Buffer.from(await answer.arrayBuffer()))
}
const gateway = createServer((request, response) => {
  forward(request, response).catch(() => response.destroy())
})
let server: TestServer
let client: Client
const served = openServedDeployments(() => client, names, waiting.timeout)
const { ids, chat, waitForMessage, waitForAnswer, whileOthersServe } = served

beforeAll(async () => {
  simulator = await startXinferenceSimulator()
  api = await startKubernetesApi()
  pod = startEngine({ flags: { '--alias': 'berth-tiny', '--context': '1024', '--parallel': '2' } })
  endpoint = await startEndpointDouble()
  const port = await listen(gateway)
  server = await startTestServer({
    settings: {
      RUNTIME: everything,
      XINFERENCE_URLS: simulator.url,
      KUBECONFIG: api.kubeconfig,
      KUBERNETES_INSTANCE_TYPES: types.kubernetes,
      ENDPOINT_NETWORKS: '127.0.0.0/8',
      KUBERNETES_ENGINE_ADDRESS: `http://127.0.0.1:${port}/{service}`,
    },
  })
  client = await registerClient(server.url)
})
afterAll(async () => {
  await server?.close()
  await endpoint?.close()
  gateway.close()
  gateway.closeAllConnections()
  await pod?.stop()
  await api?.close()
  await simulator?.close()
})

const plan = (more: object = {}) => client.post(`${path}/plan`, { model_name: 'berth-tiny', ...more })

const listServing = () => [...simulator.models.values()].filter(({ status }) => status === 'READY')

test('one plan compares the offers of all, and says where each is', async () => {
  const { body } = await plan()
  expect(
    body.considered.map((one: Record<string, unknown>) => [one['instance_type'], one['cluster_id']]),
  ).toEqual(
    expect.arrayContaining([
      ['local-cpu', 'local'],
      ['l4-x1', 'kubernetes/berth'],
      ['xinference-cpu', expect.stringMatching(/^xinference-/)],
    ]),
  )
  for (const [name, instance_type] of Object.entries(types)) {
    const chosen = await plan({ instance_type })
    expect(chosen.body).toMatchObject({ feasible: true, instance_type })
    expect(chosen.body.cluster_id).toMatch(new RegExp(`^${name}`))
  }
})

test('each runtime serves its deployment', async () => {
  for (const name of engines) {
    const created = await client.post(path, { model_name: 'berth-tiny', instance_type: types[name] })
    expect(created.status).toBe(201)
    ids[name] = created.body.id
  }
  const added = await client.post('/api/v1/endpoints', { name: 'Lab', base_url: endpoint.url })
  expect(added.status).toBe(201)
  ids.endpoints = (await client.post(path, { model_name: 'llama' })).body.id
  const scheduling = setInterval(() => api.setPods(ready), 200)
  for (const name of names) {
    const running = await waitForStatus(client, ids[name], 'running', waiting.timeout)
    const cluster = name === 'endpoints' ? added.body.id : name
    expect(running.cluster_id).toMatch(new RegExp(`^${cluster}`))
  }
  clearInterval(scheduling)
  for (const name of names) expect((await chat(name)).body.choices).toHaveLength(1)
})

test('an unreachable Xinference hides its offers, and loses no deployment', async () => {
  await whileOthersServe('xinference', async () => {
    await simulator.stopListening()
    await waitForMessage('xinference', expect.stringContaining('Xinference is unreachable'))
    const { status, body } = await plan()
    expect(status).toBe(200)
    expect(JSON.stringify(body.considered)).not.toContain('xinference')
    const missing = await plan({ instance_type: 'xinference-cpu' })
    expect(missing.body).toMatchObject({
      feasible: false,
      reason: expect.stringContaining('xinference are unknown'),
    })
    const refused = await client.post(path, { model_name: 'berth-tiny', instance_type: 'xinference-cpu' })
    expect(refused).toMatchObject({ status: 503, body: { code: 'runtime_unavailable' } })
    await simulator.startListening()
  })
  await waitForMessage('xinference', null)
  await waitForAnswer('xinference')
})

test('a Kubernetes that fails loses no deployment', async () => {
  await whileOthersServe('kubernetes', async () => {
    api.failWith(503)
    api.expireWatches()
    await waitForMessage('kubernetes', expect.stringContaining('Retrying'))
    expect((await plan()).status).toBe(200)
    api.failWith(null)
  })
  await waitForMessage('kubernetes', null)
  await waitForAnswer('kubernetes')
})

test('a killed engine of this machine starts again, and the others serve meanwhile', async () => {
  const { body } = await client.get(`${path}/${ids.local}`)
  const folder = join(server.dataDirectory, 'engines', body.instances[0].id)
  const { pid } = JSON.parse(await readFile(join(folder, 'engine.json'), 'utf8'))
  await whileOthersServe('local', async () => {
    process.kill(pid, 'SIGKILL')
    await waitForAnswer('local')
  })
})

test('an endpoint that goes and comes is the trouble of its own deployment', async () => {
  await whileOthersServe('endpoints', async () => {
    const { port } = new URL(endpoint.url)
    await endpoint.close()
    await waitForAnswer('endpoints', 502)
    await waitForMessage('endpoints', expect.stringContaining('The endpoint does not respond'))
    endpoint = await startEndpointDouble(Number(port))
    await waitForAnswer('endpoints')
    await waitForMessage('endpoints', null)
  })
})

test('a runtime that is taken away at a start keeps its deployments until it is back', async () => {
  const launches = simulator.calls.filter((call) => call === 'POST /v1/models').length
  await server.restart({ RUNTIME: 'local' })
  for (const name of ['kubernetes', 'xinference', 'endpoints'] as const) {
    await waitForMessage(name, `The runtime ${name} is not configured.`)
    const refused = await chat(name)
    expect(refused.status).toBe(502)
    expect(JSON.stringify(refused.body)).toContain(`The runtime ${name} is not configured.`)
  }
  expect((await chat('local')).status).toBe(200)
  expect((await plan()).body.considered[0]).not.toHaveProperty('cluster_id')
  await sweepOrphans(server.application)
  expect(listServing()).toHaveLength(1)
  expect(api.list('deployments')).toHaveLength(1)

  await client.delete(`${path}/${ids.kubernetes}`)
  await vi.waitFor(async () => {
    const { body } = await client.get(`${path}/${ids.kubernetes}`)
    expect(body).toMatchObject({
      status: 'terminating',
      status_message: 'The runtime kubernetes is not configured.',
    })
  }, waiting)

  await server.restart({ RUNTIME: everything })
  await waitForStatus(client, ids.kubernetes, 'terminated', waiting.timeout)
  expect(api.list('deployments')).toEqual([])
  for (const name of ['xinference', 'endpoints'] as const) {
    await waitForMessage(name, null)
    await waitForAnswer(name)
  }
  expect(simulator.calls.filter((call) => call === 'POST /v1/models')).toHaveLength(launches)
})

test('an operator abandons a deployment, whose billing ends at its last sign of life', async () => {
  const settings = { ...adminSettings(server), RUNTIME: 'local' }
  const abandon = (id: string) => runAdmin(settings, ['deployments', 'abandon', id])
  expect(await abandon(ids.local)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Terminate it instead'),
  })
  expect(await abandon('nothing')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No deployment has this id'),
  })
  expect((await chat('local')).status).toBe(200)

  await server.restart({ RUNTIME: 'local' })
  await waitForMessage('xinference', 'The runtime xinference is not configured.')
  const { db } = server.application
  const spans = () =>
    db
      .selectFrom('instance_spans')
      .selectAll()
      .where('deployment_id', '=', ids.xinference)
      .orderBy('id')
      .execute()
  const lost = (await spans()).at(-1)!
  expect(lost.ended_at).not.toBeNull()

  expect(await abandon(ids.xinference)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('left on xinference'),
  })
  await waitForStatus(client, ids.xinference, 'terminated', waiting.timeout)
  expect((await spans()).at(-1)).toEqual(lost)
  const actions = await db
    .selectFrom('audit_log')
    .select(['action', 'details'])
    .where('action', '=', 'deployment.abandoned')
    .execute()
  expect(actions).toMatchObject([{ details: { runtimes: ['xinference'] } }])

  // Once the runtime is back, what was left there is an orphan.
  await server.restart({ RUNTIME: everything })
  await vi.waitFor(async () => {
    await sweepOrphans(server.application)
    expect(listServing()).toEqual([])
  }, waiting)
})
