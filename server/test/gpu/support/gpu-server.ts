import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  cacheFolder,
  describeRandomModel,
  prepareRandomModel,
  shapes,
} from '../../../../bench/engine/random-model.ts'
import type { ModelShape } from '../../../../bench/engine/random-model.ts'
import { expect, vi } from 'vitest'
import type { z } from 'zod'
import type { deploymentBody } from '../../../src/features/deployments/schemas.ts'
import { registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { waitForStatus } from '../../support/deployments.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

const tokenizer = resolve(import.meta.dirname, '../../../../catalog/weights/berth-tiny.gguf')
/** Memory that a driver may keep after the end of its processes */
const leftovers = 512 * 2 ** 20

export const path = '/api/v1/model-deployments'
/** The first start of an engine may compile for this GPU. */
export const patience = { timeout: 120_000, interval: 50 }

type Deployment = z.infer<typeof deploymentBody>

/** A server on the GPUs of this host, whose catalog has models with random weights. */
export interface GpuServer {
  server: TestServer
  client: Client
  /** The weights of a model */
  fileOf(shape: ModelShape): { path: string; bytes: number }
  /** Deploys a model. Resolves to the id. */
  deploy(shape: ModelShape): Promise<string>
  /** Waits until a deployment runs. Throws as soon as it has failed. */
  waitUntilRunning(id: string): Promise<Deployment>
  /** Terminates all deployments and waits until the GPUs are idle. */
  terminateAll(): Promise<void>
  /** Bytes of GPU memory in use since the start of the server */
  readUsed(): number
  /** Tells whether engines have given back the memory of the GPUs. */
  isIdle: () => boolean
  close(): Promise<void>
}

/** Sum of a figure of nvidia-smi over all GPUs, in bytes. */
export function readGpuMemory(figure: 'used' | 'total'): number {
  const args = [`--query-gpu=memory.${figure}`, '--format=csv,noheader,nounits']
  const lines = execFileSync('nvidia-smi', args, { encoding: 'utf8' }).trim().split('\n')
  return lines.reduce((sum, line) => sum + Number(line) * 2 ** 20, 0)
}

/** Writes the weights to the user's cache if they are not there yet, and starts a server. */
export async function startGpuServer(): Promise<GpuServer> {
  // Each server has its own DATA_DIR, and CUDA would compile for each.
  process.env['CUDA_CACHE_PATH'] ??= join(cacheFolder, 'cuda')
  const folder = await mkdtemp(join(tmpdir(), 'berth-gpu-'))
  const files = new Map<ModelShape, { path: string; bytes: number }>()
  const models: string[] = []
  for (const shape of Object.values(shapes)) {
    const file = await prepareRandomModel(tokenizer, shape)
    const bytes = (await stat(file)).size
    files.set(shape, { path: file, bytes })
    models.push(describeRandomModel(shape, { file, bytes }))
  }
  // JSON is YAML.
  await writeFile(join(folder, 'models.yaml'), `{"models":[${models.join()}]}`)
  const { LLAMA_SERVER_COMMAND } = process.env
  const server = await startTestServer({
    settings: {
      CATALOG_FILE: join(folder, 'models.yaml'),
      ...(LLAMA_SERVER_COMMAND === undefined ? {} : { LLAMA_SERVER_COMMAND }),
    },
  })
  const idle = readGpuMemory('used')
  const readUsed = () => readGpuMemory('used') - idle
  const isIdle = () => readUsed() < leftovers
  const client = await registerClient(server.url)
  const deployed: string[] = []
  return {
    server,
    client,
    fileOf: (shape) => files.get(shape)!,
    async deploy(shape) {
      const { status, body } = await client.post(path, { model_name: shape.name })
      expect(status, JSON.stringify(body)).toBe(201)
      deployed.push(body.id)
      return body.id
    },
    async waitUntilRunning(id) {
      const deployment = await vi.waitUntil(async () => {
        const { body } = await client.get(`${path}/${id}`)
        return ['running', 'failed'].includes(body.status) && body
      }, patience)
      expect(deployment.status, JSON.stringify(deployment)).toBe('running')
      return deployment
    },
    async terminateAll() {
      for (const id of deployed) await client.delete(`${path}/${id}`)
      for (const id of deployed.splice(0)) await waitForStatus(client, id, 'terminated')
      await vi.waitUntil(isIdle, patience)
    },
    readUsed,
    isIdle,
    async close() {
      await server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
