import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished, vi } from 'vitest'
import { runningAsRoot } from '../../src/base/account.ts'
import { createLocalRuntime } from '../../src/adapters/model-runtime/local/runtime.ts'
import type { EngineObservation, EngineSpec, ModelRuntime } from '../../src/ports/model-runtime.ts'
import type { ModelVariant, WeightSource } from '../../src/ports/model-variant.ts'
import type { LocalRuntimeSettings } from '../../src/adapters/model-runtime/local/settings.ts'
import { listen } from '../support/listen.ts'

export const tinyModel = fileURLToPath(new URL('../../../catalog/weights/berth-tiny.gguf', import.meta.url))

/** Generous timeout for a busy machine. */
export const patient = { timeout: 20_000 }

/** The folders of this test file so far. */
export const folders: string[] = []

/** A temporary folder, deleted after the test. */
export async function makeFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'berth-local-')))
  folders.push(folder)
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The folder of code that engines compile: if the tests run as root, engines have another one. */
export function locateCache(folder: string): string {
  return join(folder, runningAsRoot() ? 'engine-cache' : 'compile-cache')
}

/** Settings that retry immediately and disable GPUs. */
export function makeSettings(
  folder: string,
  changes: Partial<LocalRuntimeSettings> = {},
): LocalRuntimeSettings {
  return {
    dataDirectory: folder,
    catalogDirectory: folder,
    huggingFace: { endpoint: 'http://127.0.0.1:9', token: null },
    logger: { info() {}, warn() {} },
    environment: {
      PATH: process.env['PATH'],
      HOME: folder,
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      NODE_LLAMA_CPP_GPU: 'false',
    },
    retry: { attempts: 3, baseDelayMs: 1, idleTimeoutMs: 5000 },
    ...changes,
  }
}

/** Opens a runtime and releases its deployments after the test. */
export async function openRuntime(settings: LocalRuntimeSettings): Promise<ModelRuntime> {
  const runtime = await createLocalRuntime(settings)
  onTestFinished(async () => {
    for (const id of await runtime.listEngineIds()) await vi.waitUntil(() => runtime.release(id), patient)
    await runtime.close()
  })
  return runtime
}

/** Calls `ensureEngine` until the engine reaches a phase. */
export async function reach<P extends EngineObservation['phase']>(
  runtime: ModelRuntime,
  spec: EngineSpec,
  phase: P,
): Promise<Extract<EngineObservation, { phase: P }>> {
  return await vi.waitFor(
    async () => {
      const seen = await runtime.ensureEngine(spec)
      if (seen.phase !== phase) throw new Error(`seen ${JSON.stringify(seen)}`)
      return seen as Extract<EngineObservation, { phase: P }>
    },
    { timeout: 60_000, interval: 50 },
  )
}

export function makeVariant(weights: WeightSource, changes: Partial<ModelVariant> = {}): ModelVariant {
  return {
    modelName: 'berth-tiny',
    modelType: 'LLM',
    format: 'ggufv2',
    sizeInBillions: 0.001,
    quantization: 'F32',
    contextLength: 2048,
    architecture: {
      parameters: 250_000,
      layers: 2,
      attentionHeads: 4,
      kvHeads: 4,
      headDimension: 32,
      hiddenSize: 128,
      vocabularySize: 800,
    },
    weightBytes: null,
    weights,
    engines: {},
    ...changes,
  }
}

export function makeSpec(variant: ModelVariant, changes: Partial<EngineSpec> = {}): EngineSpec {
  const engineId = randomUUID()
  return {
    engineId,
    deploymentId: randomUUID(),
    modelUid: `dep-${engineId}`,
    servedModelName: variant.modelName,
    apiKey: randomBytes(32).toString('base64url'),
    clusterId: null,
    variant,
    instanceType: 'local-cpu',
    gpuCount: 0,
    memoryBytes: 250_000_000,
    contextTokens: 512,
    parallelSequences: 2,
    ...changes,
  }
}

/** Bytes that look like a GGUF file, deterministic by seed. */
export function makeModelBytes(size: number, seed = 'a'): Buffer {
  const block = createHash('sha512').update(seed).digest()
  const bytes = Buffer.alloc(size, block)
  bytes.write('GGUF', 'latin1')
  return bytes
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export interface FileServer {
  origin: string
  requests: { path: string; headers: IncomingMessage['headers'] }[]
  methods: string[]
  server: Server
}

/** Starts an HTTP server that closes after the test. `attempt` counts requests from 1. */
export async function startServer(
  handle: (request: IncomingMessage, response: ServerResponse, attempt: number) => void,
): Promise<FileServer> {
  const requests: FileServer['requests'] = []
  const methods: string[] = []
  const server = createServer((request, response) => {
    methods.push(request.method ?? '')
    requests.push({ path: request.url ?? '', headers: request.headers })
    handle(request, response, requests.length)
  })
  const port = await listen(server)
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { origin: `http://127.0.0.1:${port}`, requests, methods, server }
}

export interface SendOptions {
  etag?: string
  headers?: Record<string, string>
  /** Bytes to send before closing the connection */
  dropAfter?: number
  ignoreRange?: boolean
}

/** Serves a file with support for `Range` and `If-Range`. */
export function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  options: SendOptions = {},
): void {
  const { etag, dropAfter } = options
  const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')
  const fresh = request.headers['if-range'] === undefined || request.headers['if-range'] === etag
  const start = range !== null && fresh && options.ignoreRange !== true ? Number(range[1]) : 0
  if (start >= bytes.length) {
    response.writeHead(416).end()
    return
  }
  response.writeHead(start > 0 ? 206 : 200, {
    'content-length': bytes.length - start,
    ...(start > 0 ? { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` } : {}),
    ...(etag === undefined ? {} : { etag }),
    ...options.headers,
  })
  if (dropAfter === undefined) response.end(bytes.subarray(start))
  else response.write(bytes.subarray(start, start + dropAfter), () => response.destroy())
}
