import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { createTestDatabase } from '../../support/database.ts'
import { waitForStatus } from '../../support/deployments.ts'
import { listen } from '../../support/listen.ts'
import { waitOptions } from '../cluster/support.ts'
import { startServiceProxy } from './service-proxy.ts'
import { engineImage, nodeCommand, openNodeTestBed } from './support.ts'
import type { NodeTestBed } from './support.ts'

const run = promisify(execFile)
const [kubectl = 'kubectl', ...kubectlOptions] = (process.env['TEST_KUBECTL'] ?? 'kubectl').split(' ')
/** The target `server` of deploy/Dockerfile, on all nodes */
const serverImage = process.env['TEST_SERVER_IMAGE']
const manifests = resolve(import.meta.dirname, '../../../../deploy/kubernetes')
const namespace = 'berth'

/** An overlay as deploy/README.md describes it, for a cluster whose nodes have L4 GPUs. */
const overlay = (publicUrl: string) => `
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: ${namespace}
resources: [kubernetes]
images:
  - { name: ghcr.io/example/berth, newName: ${serverImage?.split(':')[0]}, newTag: "${serverImage?.split(':')[1]}" }
patches:
  - target: { kind: ConfigMap, name: berth-settings }
    patch: |
      - { op: replace, path: /data/PUBLIC_URL, value: "${publicUrl}" }
      - { op: add, path: /data/KUBERNETES_INSTANCE_TYPES, value: "l4-x1" }
      - { op: add, path: /data/KUBERNETES_LLAMACPP_IMAGE, value: "${engineImage}" }
`

describe.skipIf(nodeCommand === undefined || serverImage === undefined)(
  'an installation from deploy/kubernetes',
  () => {
    let testBed: NodeTestBed
    let client: Client
    let url: string
    let folder: string
    const cleanUps: (() => Promise<unknown>)[] = []
    const control = (...args: string[]) => run(kubectl, [...kubectlOptions, ...args])

    beforeAll(async () => {
      testBed = await openNodeTestBed()
      cleanUps.push(() => testBed.close())
      for (const node of testBed.nodes)
        await control('label', 'node', node, '--overwrite', 'nvidia.com/gpu.product=NVIDIA-L4')
      folder = await mkdtemp(join(tmpdir(), 'berth-installation-'))
      cleanUps.push(() => rm(folder, { recursive: true, force: true }))
      const proxy = await startServiceProxy({ ...testBed.cluster, namespace })
      cleanUps.push(() => proxy.close())
      url = proxy.serviceUrl.replace('{service}', 'berth')
      await cp(manifests, join(folder, 'kubernetes'), { recursive: true })
      await writeFile(join(folder, 'kustomization.yaml'), overlay(new URL(url).origin))
      const databaseUrl = await shareDatabase()
      await control('delete', 'namespace', namespace, '--ignore-not-found')
      await control('apply', '-f', join(manifests, 'namespace.yaml'))
      cleanUps.push(() => control('delete', 'namespace', namespace))
      const secrets = [`DATABASE_URL=${databaseUrl}`, `SECRET_KEY=${'a1'.repeat(32)}`]
      const literals = secrets.map((text) => `--from-literal=${text}`)
      await control('-n', namespace, 'create', 'secret', 'generic', 'berth', ...literals)
      await control('apply', '-k', folder)
      for (const name of ['berth-api', 'berth-worker']) await waitForRollout(name)
      client = await registerClient(url)
    })
    afterAll(async () => {
      for (const step of cleanUps.toReversed()) await step()
    })

    /** Makes the PostgreSQL of the tests reachable for pods, and returns a URL of an empty database. */
    async function shareDatabase(): Promise<string> {
      const database = await createTestDatabase()
      const { port, hostname } = new URL(database.url)
      const server = createServer((incoming) => {
        const upstream = connect(Number(port), hostname)
        incoming.pipe(upstream).pipe(incoming)
        incoming.on('error', () => upstream.destroy())
        upstream.on('error', () => incoming.destroy())
      })
      const host = new URL(testBed.weights.url).hostname
      const shared = await listen(server, 0, host)
      cleanUps.push(() => database.drop())
      return Object.assign(new URL(database.url), { host: `${host}:${shared}` }).href
    }

    const waitForRollout = (name: string) =>
      control('-n', namespace, 'rollout', 'status', `deployment/${name}`, '--timeout=300s')

    test('two APIs and two workers run without root and with a read-only root file system', async () => {
      const { items } = await testBed.cluster.admin.core.listNamespacedPod({ namespace })
      const roles = items.map(({ metadata }) => metadata?.labels?.['app.kubernetes.io/component'] ?? '')
      expect(roles.toSorted((one, other) => one.localeCompare(other))).toEqual([
        'api',
        'api',
        'worker',
        'worker',
      ])
      for (const { metadata } of items) {
        const shell = 'id -u; touch /berth/x 2>&1; touch /data/x && echo writable'
        const { stdout } = await control(
          '-n',
          namespace,
          'exec',
          metadata?.name ?? '',
          '--',
          'sh',
          '-c',
          shell,
        )
        expect(stdout).toMatch(/^1000\n.*Read-only file system\nwritable\n$/)
      }
    })

    test('an engine pod serves a streamed chat through the Service, and a rolling update drops no request', async () => {
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
      await control('-n', namespace, 'rollout', 'restart', 'deployment/berth-api', 'deployment/berth-worker')
      for (const name of ['berth-api', 'berth-worker']) await waitForRollout(name)
      updated.abort()
      await Promise.all(callers)
      console.log(`${answered} chats during the rolling update`)
      expect(failures).toEqual([])
      expect(answered).toBeGreaterThan(20)
      expect((await client.delete(`/api/v1/model-deployments/${created.body.id}`)).status).toBe(200)
      await waitForStatus(client, created.body.id, 'terminated', waitOptions.timeout)
    })
  },
)
