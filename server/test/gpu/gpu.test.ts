import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { shapes } from '../../../bench/engine/random-model.ts'
import { startOwnEngine } from './support/engine.ts'
import { readGpuMemory, startGpuServer } from './support/gpu-server.ts'
import type { GpuServer } from './support/gpu-server.ts'

const streams = 8

let host: GpuServer
const figures: Record<string, string>[] = []
beforeAll(async () => {
  host = await startGpuServer()
})
afterEach(() => host.terminateAll())
afterAll(async () => {
  await host?.close()
  console.table(figures)
})

/** Tokens per second of `count` answers at the same time, prompts included. */
async function measureSpeed(model: string, count: number): Promise<number> {
  const startedAt = performance.now()
  const answers = await Promise.all(
    Array.from({ length: count }, () =>
      host.client.post('/v1/chat/completions', {
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
  const startedAt = performance.now()
  const id = await host.deploy(shape)
  const deployment = await host.waitUntilRunning(id)
  const start = performance.now() - startedAt
  expect(deployment.gpu_allocation_id).toContain('GPU-')
  await measureSpeed(id, 1)
  const one = await measureSpeed(id, 1)
  const many = await measureSpeed(id, streams)
  const used = host.readUsed()
  const { memory_bytes: estimate } = await host.server.application.db
    .selectFrom('instances')
    .select('memory_bytes')
    .where('deployment_id', '=', id)
    .executeTakeFirstOrThrow()
  const toGib = (bytes: number) => (bytes / 2 ** 30).toFixed(2)
  figures.push({
    model: shape.name,
    context: `${deployment.context_tokens} × ${deployment.parallel_sequences}`,
    'start in s': (start / 1000).toFixed(1),
    'estimated GiB': toGib(Number(estimate)),
    'used GiB': toGib(used),
    'tokens/s': one.toFixed(0),
    [`tokens/s of ${streams} streams`]: many.toFixed(0),
  })
  expect(used).toBeGreaterThan(host.fileOf(shape).bytes)
  expect(used).toBeLessThanOrEqual(Number(estimate))
})

test('a context that the GPU can not hold: the engine fails with out_of_memory, also if the host could hold it', async () => {
  const { layers, width, heads, kvHeads } = shapes.seven
  const bytesPerToken = 2 * 2 * layers * kvHeads * (width / heads)
  const parallel = 16
  const context = Math.ceil((readGpuMemory('total') * 1.2) / (bytesPerToken * parallel))
  const engine = await startOwnEngine(host.fileOf(shapes.seven).path, context, parallel)
  expect(await engine.exit).toEqual([1, null])
  expect(await engine.read()).toMatchObject({
    phase: 'failed',
    error: { code: 'out_of_memory', message: expect.stringContaining('does not fit into memory') },
  })
})
