import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { endlessFormat, startEngine, tinyModel } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'

let engine: TestEngine
afterEach(() => engine.stop())

const folder = mkdtempSync(join(tmpdir(), 'berth-models-'))
afterAll(() => rmSync(folder, { recursive: true }))
const tiny = readFileSync(tinyModel)

test('listens before the model is loaded and reports when it is ready', async () => {
  engine = startEngine()
  const url = await engine.url()
  const first = await fetch(`${url}/health`)
  if (first.status === 503) {
    expect(await first.json()).toEqual({
      error: { code: 503, message: 'Loading model', type: 'unavailable_error' },
    })
  }
  await engine.ready()
  const health = await fetch(`${url}/health`)
  expect(health.status).toBe(200)
  expect(await health.json()).toEqual({ status: 'ok' })
  expect(engine.state()).toEqual({
    nonce: engine.nonce,
    pid: engine.process.pid,
    started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
    phase: 'ready',
    port: Number(new URL(url).port),
    health_port: null,
    error: null,
  })
  await expect.poll(() => engine.state()?.health_port).not.toBeNull()
  const other = await fetch(`http://127.0.0.1:${engine.state()!.health_port}/health`)
  expect([other.status, await other.json()]).toEqual([200, { status: 'ok' }])
})

test.each([
  ['no launch.json', null],
  ['the launch.json of another launch', 'ffffffffffffffff'],
])('ends at once with %s', async (_, launchNonce) => {
  engine = startEngine({ launchNonce })
  expect(await engine.ended()).toBe(3)
  expect(engine.state()).toBeNull()
})

test('the queue of a sequence holds more requests than an API process sends; requests beyond it get a 429', async () => {
  engine = startEngine({ flags: { '--parallel': '1' } })
  await engine.ready()
  const leaving = new AbortController()
  const running = await engine.chat({ stream: true, response_format: endlessFormat }, leaving)
  await running.body!.getReader().read()
  const waiting = Array.from({ length: 64 }, () =>
    engine.chat({ stream: true, max_tokens: 1 }, leaving).catch(() => null),
  )
  const refused = await vi.waitUntil(
    async () => {
      const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(1000)])
      const answer = await engine.chat({ max_tokens: 1 }, { signal }).catch(() => null)
      return answer?.status === 429 && answer
    },
    { timeout: 30_000 },
  )
  expect(refused.headers.get('retry-after')).toBe('5')
  expect(await refused.json()).toMatchObject({
    error: {
      type: 'rate_limit_error',
      code: 'rate_limited',
      message: expect.stringContaining('64') as string,
    },
  })
  leaving.abort()
  await Promise.all(waiting)
})

test('exits when its launch.json is removed', async () => {
  engine = startEngine()
  await engine.ready()
  rmSync(join(engine.directory, 'launch.json'))
  expect(await engine.ended()).toBe(3)
})

test('SIGTERM during an answer sends an error to the reader and exits', async () => {
  engine = startEngine()
  await engine.ready()
  const response = await engine.chat({ stream: true, response_format: endlessFormat })
  const reader = response.body!.getReader()
  await reader.read()
  engine.process.kill('SIGTERM')
  let text = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += Buffer.from(part.value)
  expect(text).toContain('"code":"shutting_down"')
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  expect(await engine.ended()).toBe(0)
})

test('outlives the reader of its output', async () => {
  engine = startEngine()
  await engine.ready()
  engine.process.stdout!.destroy()
  engine.process.stderr!.destroy()
  for (let turn = 0; turn < 3; turn++) expect((await engine.chat({ max_tokens: 1 })).status).toBe(200)
})

test.each<[string, Uint8Array | null]>([
  ['in another format', Buffer.from('no model at all')],
  ['without content', Buffer.alloc(0)],
  ['cut off in its header', tiny.subarray(0, 5000)],
  ['cut off in its weights', tiny.subarray(0, 500_000)],
  ['of an unknown architecture', Buffer.from(tiny.toString('latin1').replaceAll('llama', 'lhama'), 'latin1')],
  ['that does not exist', null],
])('rejects a model file %s', async (name, content) => {
  const path = join(folder, `${name}.gguf`)
  if (content !== null) writeFileSync(path, content)
  engine = startEngine({ flags: { '--model': path } })
  expect(await engine.ended()).toBe(1)
  expect(engine.state()).toMatchObject({
    phase: 'failed',
    error: { code: 'launch_rejected', message: expect.stringMatching(/model/) as string },
  })
})

test('reports out_of_memory when the model does not fit', async () => {
  engine = startEngine({ flags: { '--context': '2000000', '--parallel': '32' } })
  expect(await engine.ended()).toBe(1)
  expect(engine.state()).toMatchObject({ phase: 'failed', error: { code: 'out_of_memory' } })
})

test('names invalid flags and writes no state', async () => {
  engine = startEngine({ flags: { '--context': 'much' } })
  expect(await engine.ended()).toBe(2)
  expect(engine.output()).toContain('--context must be an integer')
  expect(engine.state()).toBeNull()
})
