import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { createTestDatabase } from '../../support/database.ts'
import { waitForStatus } from '../../support/deployments.ts'
import { control, helm, listObjects, runHelm } from '../cluster/helm.ts'
import { waitOptions } from '../cluster/support.ts'
import { sharePort } from '../../support/share-port.ts'
import { startServiceProxy } from './service-proxy.ts'
import { engineImage, nodeCommand, openNodeTestBed } from './support.ts'
import type { NodeTestBed } from './support.ts'

/** The target `server` of deploy/Dockerfile, on all nodes */
const serverImage = process.env['TEST_SERVER_IMAGE']
const deployFolder = resolve(import.meta.dirname, '../../../../deploy')
const namespaceFile = join(deployFolder, 'kubernetes/namespace.yaml')
const namespace = 'berth'

/** A program that sends requests with the token of its pod, and prints the status of each. */
const sendRequests = `
const { readFileSync } = require('node:fs')
const { request } = require('node:https')
const read = (name) => readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/' + name, 'utf8')
const send = (verb, group, rest) => new Promise((resolve, reject) => {
  const base = group === 'v1' ? '/api/v1' : '/apis/' + group
  const headers = { authorization: 'Bearer ' + read('token'), 'content-type': 'application/json' }
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env
  const path = base + '/namespaces/${namespace}/' + rest + '?dryRun=All'
  request({ host, port, path, method: verb, ca: read('ca.crt'), headers }, (answer) => {
    answer.resume()
    resolve([[verb, group, rest].join(' '), answer.statusCode])
  }).on('error', reject).end(verb === 'POST' ? '{}' : undefined)
})
const requests = ['DELETE v1 pods/none', 'GET v1 configmaps']
for (const kind of ['apps/v1 deployments', 'v1 services', 'networking.k8s.io/v1 networkpolicies', 'v1 secrets', 'v1 pods'])
  requests.push('GET ' + kind, 'POST ' + kind)
Promise.all(requests.map((text) => send(...text.split(' ')))).then((all) => console.log(JSON.stringify(Object.fromEntries(all))))
`

/** Values as deploy/README.md describes them, for a cluster whose nodes have L4 GPUs. */
const valuesFor = (publicUrl: string) => ({
  image: { repository: serverImage?.split(':')[0], tag: serverImage?.split(':')[1] },
  settings: {
    PUBLIC_URL: publicUrl,
    KUBERNETES_INSTANCE_TYPES: 'l4-x1',
    KUBERNETES_LLAMACPP_IMAGE: engineImage,
  },
})

describe.skipIf(nodeCommand === undefined || serverImage === undefined || helm === undefined)(
  'an installation of deploy/helm/berth',
  () => {
    let testBed: NodeTestBed
    let client: Client
    let url: string
    let before: string[]
    const cleanUps: (() => Promise<unknown>)[] = []

    beforeAll(async () => {
      testBed = await openNodeTestBed()
      cleanUps.push(() => testBed.close())
      for (const node of testBed.nodes)
        await control('label', 'node', node, '--overwrite', 'nvidia.com/gpu.product=NVIDIA-L4')
      const folder = await mkdtemp(join(tmpdir(), 'berth-installation-'))
      cleanUps.push(() => rm(folder, { recursive: true, force: true }))
      const proxy = await startServiceProxy({ ...testBed.cluster, namespace })
      cleanUps.push(() => proxy.close())
      url = proxy.serviceUrl.replace('{service}', 'berth')
      const values = join(folder, 'values.json')
      await writeFile(values, JSON.stringify(valuesFor(new URL(url).origin)))
      const databaseUrl = await shareDatabase()
      await control('delete', 'namespace', namespace, '--ignore-not-found')
      await control('apply', '-f', namespaceFile)
      cleanUps.push(() => control('delete', 'namespace', namespace))
      const secrets = [`DATABASE_URL=${databaseUrl}`, `SECRET_KEY=${'a1'.repeat(32)}`]
      const literals = secrets.map((text) => `--from-literal=${text}`)
      await control('-n', namespace, 'create', 'secret', 'generic', 'berth', ...literals)
      before = await listObjects(namespace)
      await runHelm('install', namespace, '--values', values)
      for (const name of ['berth-api', 'berth-worker']) await waitForRollout(name)
      client = await registerClient(url)
    })
    afterAll(async () => {
      for (const step of cleanUps.toReversed()) await step()
    })

    /** Makes the PostgreSQL of the tests reachable for pods, and returns a URL of an empty database. */
    async function shareDatabase(): Promise<string> {
      const database = await createTestDatabase()
      const { port } = new URL(database.url)
      const shared = await sharePort(new URL(testBed.weights.url).hostname, () => Number(port))
      cleanUps.push(
        () => database.drop(),
        () => shared.close(),
      )
      return Object.assign(new URL(database.url), { host: shared.address }).href
    }

    async function listPods() {
      const { items } = await testBed.cluster.admin.core.listNamespacedPod({ namespace })
      return items.map(({ metadata }) => ({
        name: metadata?.name ?? '',
        role: metadata?.labels?.['app.kubernetes.io/component'] ?? '',
      }))
    }

    const execute = (pod: string, ...command: string[]) =>
      control('-n', namespace, 'exec', pod, '--', ...command)

    const waitForRollout = (name: string) =>
      control('-n', namespace, 'rollout', 'status', `deployment/${name}`, '--timeout=300s')

    test('two APIs and two workers run without root and with a read-only root file system', async () => {
      // The autoscaler starts the second API.
      const pods = await vi.waitFor(async () => {
        const found = await listPods()
        const count = (wanted: string) => found.filter(({ role }) => role === wanted).length
        expect([count('api'), count('worker')]).toEqual([2, 2])
        return found
      }, waitOptions)
      await waitForRollout('berth-api')
      for (const { name } of pods) {
        const shell = 'id -u; touch /berth/x 2>&1; touch /data/x && echo writable'
        expect(await execute(name, 'sh', '-c', shell)).toMatch(/^1000\n.*Read-only file system\nwritable\n$/)
      }
    })

    test('the service account of the API only reads pods and logs; the one of the worker manages engines', async () => {
      const statuses: Record<string, unknown> = {}
      for (const { name, role } of await listPods()) {
        statuses[role] = JSON.parse(await execute(name, 'node', '-e', sendRequests))
      }
      const both = { 'GET v1 pods': 200, 'GET v1 secrets': 403, 'GET v1 configmaps': 403 }
      const kinds = ['apps/v1 deployments', 'v1 services', 'networking.k8s.io/v1 networkpolicies']
      const answers = (statusOf: (verb: string) => number) =>
        Object.fromEntries(
          [
            ...kinds.flatMap((kind) => [`GET ${kind}`, `POST ${kind}`]),
            'POST v1 secrets',
            'POST v1 pods',
          ].map((request) => [request, statusOf(request)]),
        )
      expect(statuses).toEqual({
        api: { ...both, ...answers(() => 403), 'DELETE v1 pods/none': 403 },
        // 422: allowed, but the object is empty.
        worker: {
          ...both,
          ...answers((request) => (request.startsWith('GET') ? 200 : 422)),
          'POST v1 pods': 403,
          'DELETE v1 pods/none': 404,
        },
      })
    })

    test('an engine pod serves a streamed chat through the Service, and an upgrade under load drops no request', async () => {
      const created = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
      expect(created.status).toBe(201)
      const { inference_model_uid: model } = await waitForStatus(
        client,
        created.body.id,
        'running',
        waitOptions.timeout,
      )
      const ask = () =>
        fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { cookie: client.cookie(), 'content-type': 'application/json' },
          body: JSON.stringify({
            model,
            stream: true,
            messages: [{ role: 'user', content: 'Hi' }],
            max_tokens: 32,
          }),
        })
      expect(await (await ask()).text()).toMatch(/data: \[DONE\]/)
      const logs = await client.get(`/api/v1/model-deployments/${created.body.id}/logs`)
      expect(JSON.stringify(logs.body)).toContain('listening on')

      const updated = new AbortController()
      let answered = 0
      const failures: string[] = []
      const callers = Array.from({ length: 6 }, async () => {
        while (!updated.signal.aborted) {
          const text = await ask().then(
            async (answer) => `${answer.status} ${await answer.text()}`,
            (error: Error) => `${error.message} ${String(error.cause)}`,
          )
          if (text.startsWith('200') && text.includes('data: [DONE]')) answered += 1
          else failures.push(text.slice(0, 300))
        }
      })
      // New settings restart all pods, after the migration.
      await runHelm('upgrade', namespace, '--reuse-values', '--set', 'settings.LOG_LEVEL=debug')
      for (const name of ['berth-api', 'berth-worker']) await waitForRollout(name)
      updated.abort()
      await Promise.all(callers)
      console.log(`${answered} chats during the upgrade`)
      expect(failures).toEqual([])
      expect(answered).toBeGreaterThan(20)
      await waitForStatus(client, created.body.id, 'running')
    })

    test('after an uninstallation nothing is left, engines included', async () => {
      expect(await listObjects(namespace)).toContainEqual(expect.stringMatching(/^deployment\.apps\/dep-/))
      await runHelm('uninstall', namespace)
      await vi.waitFor(async () => expect(await listObjects(namespace)).toEqual(before), waitOptions)
    })
  },
)
