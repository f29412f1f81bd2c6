import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import type { ConfigChanges } from '../../support/change-config.ts'
import { registerClient } from '../../support/client.ts'
import type { Answer, Client } from '../../support/client.ts'
import { waitForStatus } from '../../support/deployments.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'
import { waitOptions } from '../cluster/support.ts'
import { engineImage } from './support.ts'
import type { NodeTestBed } from './support.ts'

const path = '/api/v1/model-deployments'

/** A Berth whose engines run on the nodes of a test bed, and a person who uses it. */
export interface NodeServer extends TestServer {
  client: Client
  deploy(modelName?: string, patience?: number): ReturnType<typeof waitForStatus>
  read(id: string): Promise<any>
  change(id: string, policy: object): Promise<void>
  chat(model: string, body?: object): Promise<Answer>
  /** One line for each event */
  readEvents(id: string): Promise<string>
  /** Waits until the pod of the oldest instance is another one, and answers. */
  waitForReplacement(id: string, oldPod: string): Promise<any>
  terminate(id: string): Promise<void>
}

const instanceTypes = (nodeSelector: Record<string, string>) => `
currency: usd
gpus:
  - model: NVIDIA L4
    vendor: nvidia
    usable_gib: 22.5
    compute_capability: 8.9
    node_selector: ${JSON.stringify(nodeSelector)}
    types: [{ name: l4-x1, gpu_count: 1, region: here, price_per_hour: "0.80" }]
`

/** The settings of a Berth on this test bed. Writes the file with its instance type into `folder`. */
export async function configureServer(
  { cluster, proxy }: NodeTestBed,
  folder: string,
  nodeSelector: Record<string, string> = { 'berth.dev/test': cluster.namespace },
): Promise<Record<string, string>> {
  const typesFile = join(folder, 'types.yaml')
  await writeFile(typesFile, instanceTypes(nodeSelector))
  return {
    INSTANCE_TYPES_FILE: typesFile,
    RUNTIME: 'kubernetes',
    KUBECONFIG: cluster.kubeconfig,
    KUBERNETES_NAMESPACE: cluster.namespace,
    KUBERNETES_ENGINE_ADDRESS: proxy.serviceUrl,
    KUBERNETES_LLAMACPP_IMAGE: engineImage,
    KUBERNETES_MODEL_CACHE: 'emptydir:64MiB',
  }
}

/**
 * Starts a Berth whose engines run on the nodes that have the labels of `nodeSelector`, by default on all.
 */
export async function startNodeServer(
  testBed: NodeTestBed,
  settings: Record<string, string> = {},
  nodeSelector?: Record<string, string>,
  config?: ConfigChanges,
): Promise<NodeServer> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-nodes-'))
  const configured = await configureServer(testBed, folder, nodeSelector)
  const server = await startTestServer({ settings: { ...configured, ...settings }, config })
  const client = await registerClient(server.url)
  const read: NodeServer['read'] = async (id) => (await client.get(`${path}/${id}`)).body
  const chat: NodeServer['chat'] = (model, body = {}) =>
    client.post('/v1/chat/completions', {
      model,
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 8,
      ...body,
    })
  return {
    ...server,
    client,
    read,
    chat,
    async deploy(modelName = 'berth-tiny', patience = waitOptions.timeout) {
      const created = await client.post(path, { model_name: modelName })
      expect(created.status).toBe(201)
      return waitForStatus(client, created.body.id, 'running', patience)
    },
    async change(id, policy) {
      expect((await client.patch(`${path}/${id}`, policy)).status).toBe(200)
    },
    async readEvents(id) {
      const { body } = await client.get(`${path}/${id}/events`)
      return body.items.map(({ status, stage, message }: any) => `${status} ${stage}: ${message}`).join('\n')
    },
    async waitForReplacement(id, oldPod) {
      return vi.waitFor(async () => {
        const body = await read(id)
        expect(body.instance_id).not.toBe(oldPod)
        expect((await chat(body.inference_model_uid)).status).toBe(200)
        return body
      }, waitOptions)
    },
    async terminate(id) {
      expect((await client.delete(`${path}/${id}`)).status).toBe(200)
      await waitForStatus(client, id, 'terminated', waitOptions.timeout)
    },
    async close() {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
