import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { waitForStatus } from '../../support/deployments.ts'
import { waitOptions } from '../cluster/support.ts'
import { startNodeServer } from './server.ts'
import type { NodeServer } from './server.ts'
import { nodeCommand, openNodeTestBed } from './support.ts'
import type { NodeTestBed } from './support.ts'
import { openVllm, vllmImage, vllmPatience } from './vllm-pods.ts'

/** The bundled model for vLLM. Compiling for the CPU takes minutes and a compiler. */
const catalog = `
models:
  - id: tiny
    model_name: tiny
    display_name: Tiny
    provider: Berth
    family: berth
    model_type: LLM
    description: The bundled model for vLLM.
    license: apache-2.0
    tags: [chat]
    context_length: 2048
    engines: { vllm: { options: { enforce-eager: true } } }
    sizes:
      - billions: 0.002
        architecture: { parameters: 2196608, layers: 5, hidden_size: 128, attention_heads: 4, kv_heads: 4, head_dim: 32, vocabulary_size: 4415 }
        variants:
          - format: pytorch
            quantizations: [none]
            weights: { huggingface: berth/tiny }
    default: { format: pytorch, billions: 0.002, quantization: none }
`

/** Lists what a deployment has in the cluster. */
async function listObjects({ cluster: { admin, namespace } }: NodeTestBed): Promise<string[]> {
  const labelSelector = 'app.kubernetes.io/managed-by=berth'
  const found = await Promise.all([
    admin.core.listNamespacedPod({ namespace }),
    admin.apps.listNamespacedReplicaSet({ namespace }),
    admin.apps.listNamespacedDeployment({ namespace }),
    admin.core.listNamespacedService({ namespace, labelSelector }),
    admin.core.listNamespacedSecret({ namespace, labelSelector }),
  ])
  return found.flatMap(({ kind, items }) => items.map(({ metadata }) => `${kind} ${metadata?.name}`))
}

/** Sleeps, then wakes by many requests at once. `patience` is for a start of the engine. */
async function sleepAndWake(
  testBed: NodeTestBed,
  server: NodeServer,
  modelName: string,
  patience: number,
): Promise<void> {
  const began = performance.now()
  const { id } = await server.deploy(modelName, patience)
  const started = performance.now()
  const path = `/api/v1/model-deployments/${id}`
  expect((await server.client.post(`${path}/sleep`)).status).toBe(200)
  await waitForStatus(server.client, id, 'sleeping', waitOptions.timeout)
  const slept = performance.now()
  expect(await listObjects(testBed)).toEqual([])

  const callers = Array.from({ length: 20 }, () => server.chat(modelName))
  const statuses = (await Promise.all(callers)).map(({ status }) => status)
  const seconds = [started - began, slept - started, performance.now() - slept].map((milliseconds) =>
    Math.round(milliseconds / 1000),
  )
  console.log(
    `${modelName}: started in ${seconds[0]} s, slept after ${seconds[1]} s, answered 20 held requests after ${seconds[2]} s`,
  )
  expect(statuses).toEqual(Array(20).fill(200))
  const events = await server.readEvents(id)
  expect(events.match(/Woken by a chat request/g)).toHaveLength(1)
  const spans = await server.application.db
    .selectFrom('instance_spans')
    .select(['started_at', 'ended_at'])
    .where('deployment_id', '=', id)
    .orderBy('started_at')
    .execute()
  expect(spans).toHaveLength(2)
  expect(spans[0]!.ended_at!.getTime()).toBeLessThan(spans[1]!.started_at.getTime())
  await server.terminate(id)
}

describe.skipIf(nodeCommand === undefined)('sleep on real nodes', () => {
  let testBed: NodeTestBed
  let folder: string
  beforeAll(async () => {
    testBed = await openNodeTestBed()
    folder = await mkdtemp(join(tmpdir(), 'berth-sleep-'))
  })
  afterAll(async () => {
    await testBed?.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('llama-server: sleep leaves nothing in the cluster, and a wake serves the held requests', async () => {
    const server = await startNodeServer(testBed)
    onTestFinished(() => server.close())
    await sleepAndWake(testBed, server, 'berth-tiny', waitOptions.timeout)
  })

  test.skipIf(vllmImage === '')(
    'vLLM: sleep leaves nothing in the cluster, and a wake serves the held requests',
    async () => {
      const { hub, nodeSelector } = await openVllm(testBed)
      onTestFinished(() => hub.close())
      const CATALOG_FILE = join(folder, 'models.yaml')
      await writeFile(CATALOG_FILE, catalog)
      const settings = {
        CATALOG_FILE,
        HF_ENDPOINT: hub.url,
        KUBERNETES_VLLM_IMAGE: vllmImage,
        KUBERNETES_MODEL_CACHE: 'emptydir:1GiB',
        WAKE_PATIENCE: `${vllmPatience.timeout / 1000}s`,
      }
      const server = await startNodeServer(testBed, settings, nodeSelector)
      onTestFinished(() => server.close())
      await sleepAndWake(testBed, server, 'tiny', vllmPatience.timeout)
    },
    2 * vllmPatience.timeout,
  )
})
