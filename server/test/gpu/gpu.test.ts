import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { prepareRandomModel, shapes } from '../../../bench/engine/random-model.ts'
import type { ModelShape } from '../../../bench/engine/random-model.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { describeRandomModel } from '../support/random-models.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const root = resolve(import.meta.dirname, '../../..')
const tokenizer = join(root, 'catalog/weights/berth-tiny.gguf')
const path = '/api/v1/model-deployments'
const patience = { timeout: 300_000, interval: 250 }
/** Memory that a driver may keep after the end of its processes. */
const leftovers = 512 * 2 ** 20
const streams = 8

/** Sum of a figure of nvidia-smi over all GPUs, in bytes. */
function readGpuMemory(figure: 'used' | 'total'): number {
  const args = [`--query-gpu=memory.${figure}`, '--format=csv,noheader,nounits']
  const lines = execFileSync('nvidia-smi', args, { encoding: 'utf8' }).trim().split('\n')
  return lines.reduce((sum, line) => sum + Number(line) * 2 ** 20, 0)
}

let folder: string
let server: TestServer
let client: Client
let idle: number
const files = new Map<ModelShape, { path: string; bytes: number }>()
const figures: Record<string, string>[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-gpu-'))
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
  server = await startTestServer({
    settings: {
      CATALOG_FILE: join(folder, 'models.yaml'),
      ...(LLAMA_SERVER_COMMAND === undefined ? {} : { LLAMA_SERVER_COMMAND }),
    },
  })
  client = await registerClient(server.url)
  idle = readGpuMemory('used')
})
afterAll(async () => {
  await server?.close()
  await rm(folder, { recursive: true, force: true })
  console.table(figures)
})

async function waitForEnd(id: string, ends: string[]): Promise<any> {
  const { body } = await vi.waitUntil(async () => {
    const answer = await client.get(`${path}/${id}`)
    return ends.includes(answer.body.status) && answer
  }, patience)
  return body
}

/** Tokens per second of `count` answers at the same time, prompts included. */
async function measureSpeed(model: string, count: number): Promise<number> {
  const startedAt = performance.now()
  const answers = await Promise.all(
    Array.from({ length: count }, () =>
      client.post('/v1/chat/completions', {
        model,
        messages: [{ role: 'user', content: 'Tell me a story.' }],
        max_tokens: 128,
      }),
    ),
  )
  const seconds = (performance.now() - startedAt) / 1000
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  return answers.reduce((sum, { body }) => sum + body.usage.completion_tokens, 0) / seconds
}

test.each(Object.values(shapes))('$name: wholly on the GPU, within the estimate', async (shape) => {
  const created = await client.post(path, { model_name: shape.name })
  expect(created.status, JSON.stringify(created.body)).toBe(201)
  const { id } = created.body
  const deployment = await waitForEnd(id, ['running', 'failed'])
  expect(deployment.status, JSON.stringify(deployment)).toBe('running')
  expect(deployment.gpu_allocation_id).toContain('GPU-')
  await measureSpeed(id, 1)
  const one = await measureSpeed(id, 1)
  const many = await measureSpeed(id, streams)
  const used = readGpuMemory('used') - idle
  const { memory_bytes: estimate } = await server.application.db
    .selectFrom('instances')
    .select('memory_bytes')
    .where('deployment_id', '=', id)
    .executeTakeFirstOrThrow()
  const toGib = (bytes: number) => (bytes / 2 ** 30).toFixed(2)
  figures.push({
    model: shape.name,
    context: `${deployment.context_tokens} × ${deployment.parallel_sequences}`,
    'estimated GiB': toGib(Number(estimate)),
    'used GiB': toGib(used),
    'tokens/s': one.toFixed(0),
    [`tokens/s of ${streams} streams`]: many.toFixed(0),
  })
  expect(used).toBeGreaterThan(files.get(shape)!.bytes)
  expect(used).toBeLessThanOrEqual(Number(estimate))
  expect((await client.delete(`${path}/${id}`)).status).toBeLessThan(300)
  await waitForEnd(id, ['terminated'])
  await vi.waitUntil(() => readGpuMemory('used') - idle < leftovers, patience)
})

test('a context that the GPU can not hold: the engine fails with out_of_memory', async () => {
  const { layers, width, heads, kvHeads } = shapes.seven
  const bytesPerToken = 2 * 2 * layers * kvHeads * (width / heads)
  const parallel = 16
  const context = Math.ceil((readGpuMemory('total') * 1.2) / (bytesPerToken * parallel))
  const state = await mkdtemp(join(tmpdir(), 'berth-gpu-engine-'))
  onTestFinished(() => rm(state, { recursive: true, force: true }))
  const nonce = '0123456789abcdef'
  await writeFile(join(state, 'launch.json'), JSON.stringify({ nonce }))
  const flags = {
    '--state-dir': state,
    '--nonce': nonce,
    '--model': files.get(shapes.seven)!.path,
    '--alias': 'model',
    '--type': 'chat',
    '--context': context,
    '--parallel': parallel,
    '--threads': 1,
    '--gpu-layers': 999,
  }
  const engine = spawn(
    process.execPath,
    [join(root, 'engine/src/main.ts'), ...Object.entries(flags).flat().map(String)],
    {
      env: { ...process.env, BERTH_ENGINE_KEY: 'a-key-for-the-gpu-test' },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  onTestFinished(() => void engine.kill('SIGKILL'))
  expect(await once(engine, 'exit')).toEqual([1, null])
  expect(JSON.parse(await readFile(join(state, 'engine.json'), 'utf8'))).toMatchObject({
    phase: 'failed',
    error: { code: 'out_of_memory', message: expect.stringContaining('does not fit into memory') },
  })
})
