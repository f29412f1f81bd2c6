import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createClient, registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { waitForStatus } from '../../support/deployments.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'
import { adminKubeconfig, openTestBed, waitOptions } from './support.ts'
import type { TestBed } from './support.ts'

const catalog = `
models:
  - id: tiny
    model_name: tiny
    display_name: Tiny
    provider: Berth
    family: berth
    model_type: LLM
    description: A model for tests.
    license: apache-2.0
    tags: [chat]
    context_length: 2048
    sizes:
      - billions: 0.0005
        architecture: { parameters: 504448, layers: 2, hidden_size: 128, attention_heads: 4, kv_heads: 4, head_dim: 32, vocabulary_size: 688 }
        variants:
          - format: ggufv2
            quantizations: [F16]
            weights: { huggingface: berth/tiny, file: tiny.gguf }
    default: { format: ggufv2, billions: 0.0005, quantization: F16 }
`

/** A cheaper type without nodes, and one with a node. */
const instanceTypes = (namespace: string) => `
currency: usd
gpus:
  - model: NVIDIA T4
    vendor: nvidia
    usable_gib: 15
    compute_capability: 7.5
    node_selector: { "berth.dev/test": nowhere }
    types: [{ name: t4-x1, gpu_count: 1, region: here, price_per_hour: "0.50" }]
  - model: NVIDIA L4
    vendor: nvidia
    usable_gib: 22.5
    compute_capability: 8.9
    node_selector: { "berth.dev/test": ${namespace} }
    types: [{ name: l4-x1, gpu_count: 1, region: here, price_per_hour: "0.80" }]
`

describe.skipIf(adminKubeconfig === undefined)('a server on a real control plane', () => {
  let testBed: TestBed
  let server: TestServer
  let client: Client
  let folder: string
  beforeAll(async () => {
    testBed = await openTestBed()
    folder = await mkdtemp(join(tmpdir(), 'berth-kubernetes-'))
    const files = {
      CATALOG_FILE: join(folder, 'models.yaml'),
      INSTANCE_TYPES_FILE: join(folder, 'types.yaml'),
    }
    await writeFile(files.CATALOG_FILE, catalog)
    await writeFile(files.INSTANCE_TYPES_FILE, instanceTypes(testBed.cluster.namespace))
    server = await startTestServer({
      settings: {
        ...files,
        RUNTIME: 'kubernetes',
        KUBECONFIG: testBed.cluster.kubeconfig,
        KUBERNETES_NAMESPACE: testBed.cluster.namespace,
        KUBERNETES_ENGINE_ADDRESS: testBed.kubelet.serviceUrl,
      },
      config: { kubernetes: { capacityWaitMs: 1_000 } },
    })
    client = await registerClient(server.url)
  })
  afterAll(async () => {
    await server?.close()
    await testBed?.close()
    await rm(folder, { recursive: true, force: true })
  })

  async function chat(model: string) {
    return client.post('/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 8,
    })
  }

  async function deploy() {
    const created = await client.post('/api/v1/model-deployments', { model_name: 'tiny' })
    expect(created.status).toBe(201)
    return created.body.id as string
  }

  test('a deployment finds a node, answers a chat, survives an eviction, and is released', async () => {
    const id = await deploy()
    const running = await waitForStatus(client, id, 'running', waitOptions.timeout)
    expect(running).toMatchObject({
      selected_instance_type: 'l4-x1',
      cluster_id: `kubernetes/${testBed.cluster.namespace}`,
      instance_id: expect.stringContaining(`dep-${running.instances[0]!.id}-`),
    })
    const answered = await chat(running.inference_model_uid)
    expect(answered.status).toBe(200)
    expect(answered.body.usage.completion_tokens).toBeGreaterThan(0)

    const { namespace, admin } = testBed.cluster
    const [pod] = (await admin.core.listNamespacedPod({ namespace })).items
    testBed.kubelet.script(() => 'ignore')
    await testBed.cluster.patchPod(pod?.metadata?.name ?? '', {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'The node was low on resource: memory.',
      conditions: [{ type: 'Ready', status: 'False' }],
    })
    const events = async () => {
      const { body } = await client.get(`/api/v1/model-deployments/${id}/events`)
      return JSON.stringify(body)
    }
    await vi.waitFor(async () => expect(await events()).toContain('low on resource: memory'), waitOptions)
    expect((await chat(running.inference_model_uid)).status).toBe(503)
    testBed.kubelet.script(() => 'run')
    await vi.waitFor(async () => expect((await chat(running.inference_model_uid)).status).toBe(200), {
      timeout: waitOptions.timeout,
      interval: 500,
    })
    expect(await events()).toContain('Trying l4-x1')

    expect((await client.delete(`/api/v1/model-deployments/${id}`)).status).toBeLessThan(300)
    await waitForStatus(client, id, 'terminated', waitOptions.timeout)
    expect((await admin.core.listNamespacedPod({ namespace })).items).toEqual([])
    expect(await server.application.runtimes.all[0]!.listEngineIds()).toEqual([])
  })

  test('without capacity a deployment fails with no_capacity, holds nothing and costs nothing', async () => {
    await testBed.cluster.patchNodeSpec(testBed.node, { unschedulable: true })
    const id = await deploy()
    const failed = await waitForStatus(client, id, 'failed', waitOptions.timeout)
    expect(failed).toMatchObject({
      failure_stage: 'provisioning',
      failure_reason: expect.stringMatching(/^no_capacity: No node had capacity for the engine/),
      instance_id: null,
    })
    await vi.waitFor(
      async () => expect(await server.application.runtimes.all[0]!.listEngineIds()).toEqual([]),
      waitOptions,
    )
    await testBed.cluster.patchNodeSpec(testBed.node, { unschedulable: false })
  })

  test('a deployment can be deleted while it waits for a node', async () => {
    await testBed.cluster.patchNodeSpec(testBed.node, { unschedulable: true })
    const id = await deploy()
    await waitForStatus(client, id, 'provisioning')
    expect((await client.delete(`/api/v1/model-deployments/${id}`)).status).toBeLessThan(300)
    await waitForStatus(client, id, 'terminated', waitOptions.timeout)
    expect(await server.application.runtimes.all[0]!.listEngineIds()).toEqual([])
    await testBed.cluster.patchNodeSpec(testBed.node, { unschedulable: false })
  })

  test('inference requires a session', async () => {
    const answer = await createClient(server.url).post('/v1/chat/completions', { model: 'x', messages: [] })
    expect(answer.status).toBe(401)
  })
})
