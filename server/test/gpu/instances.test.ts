import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { shapes } from '../../../bench/engine/random-model.ts'
import { waitForStatus } from '../support/deployments.ts'
import { engineKey, startOwnEngine } from './support/engine.ts'
import { path, patience, startGpuServer } from './support/gpu-server.ts'
import type { GpuServer } from './support/gpu-server.ts'

const question = { messages: [{ role: 'user', content: 'Tell me a story.' }], max_tokens: 16 }

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

/** Waits for the first token of a streamed answer. */
async function readFirstToken(url: string, model: string, headers: Record<string, string>): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...question, model, stream: true }),
  })
  expect(response.status).toBe(200)
  let text = ''
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (/"content":"[^"]/.test(text)) return
  }
  throw new Error(`There is no token in ${text}`)
}

/** Milliseconds from the start of an engine's process to its first token. */
async function measureOwnStart(file: string, context: number, parallel: number): Promise<number> {
  const startedAt = performance.now()
  const engine = await startOwnEngine(file, context, parallel)
  const ready = await vi.waitUntil(
    async () => {
      const state = await engine.read()
      return state?.phase === 'ready' && state
    },
    { ...patience, interval: 10 },
  )
  await readFirstToken(`http://127.0.0.1:${ready.port}`, 'model', { authorization: `Bearer ${engineKey}` })
  const milliseconds = performance.now() - startedAt
  await engine.stop()
  await vi.waitUntil(host.isIdle, patience)
  return milliseconds
}

/** State folders of the server's engines that run. */
function listEngines(root: string): Set<string> {
  const folders = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        return words.filter((word, index) => words[index - 1] === '--state-dir' && word.startsWith(root))
      } catch {
        return []
      }
    })
  return new Set(folders)
}

test.each([shapes.half, shapes.seven])(
  '$name: sleep gives the memory of the GPU back, and a chat wakes it about as fast as the engine starts',
  async (shape) => {
    const { client, server } = host
    const id = await host.deploy(shape)
    const { context_tokens: context, parallel_sequences: parallel } = await host.waitUntilRunning(id)
    const used = host.readUsed()
    expect(used).toBeGreaterThan(host.fileOf(shape).bytes)
    expect((await client.post(`${path}/${id}/sleep`)).status).toBe(200)
    await waitForStatus(client, id, 'sleeping')
    await vi.waitUntil(host.isIdle, patience)
    const left = host.readUsed()
    const own = await measureOwnStart(host.fileOf(shape).path, context!, parallel!)

    const startedAt = performance.now()
    await readFirstToken(server.url, id, { cookie: client.cookie() })
    const wake = performance.now() - startedAt
    figures.push({
      model: shape.name,
      'used GiB': (used / 2 ** 30).toFixed(2),
      'asleep GiB': (left / 2 ** 30).toFixed(2),
      "engine's start in s": (own / 1000).toFixed(2),
      'wake in s': (wake / 1000).toFixed(2),
      'wake : start': (wake / own).toFixed(2),
    })
    expect(host.readUsed()).toBeGreaterThan(host.fileOf(shape).bytes)
    expect(wake).toBeLessThan(own * 1.1)
  },
)

/** Lets time pass in which nobody uses the deployment. */
async function makeIdle(id: string): Promise<void> {
  const { db } = host.server.application
  const at = new Date(Date.now() - 60_000)
  await db.updateTable('instances').set({ status_changed_at: at }).where('deployment_id', '=', id).execute()
  await sql`UPDATE instance_loads SET used_at = ${at} FROM instances
    WHERE instances.id = instance_loads.instance_id AND deployment_id = ${id}`.execute(db)
}

test('models that do not fit together take turns on one GPU: each chat is answered, and one engine runs at a time', async () => {
  const { client } = host
  const chat = (model: string) => client.post('/v1/chat/completions', { ...question, model })
  const most = { engines: 0 }
  const ended = new AbortController()
  const watching = (async () => {
    for (; !ended.signal.aborted; await delay(20))
      most.engines = Math.max(most.engines, listEngines(host.server.dataDirectory).size)
  })()

  const first = await host.deploy(shapes.half)
  await host.waitUntilRunning(first)
  await client.patch(`${path}/${first}`, { yields: true })
  expect((await chat(first)).status).toBe(200)
  // The process reports each second that the deployment is in use.
  await delay(2_000)
  const second = await host.deploy(shapes.oneAndHalf)
  await client.patch(`${path}/${second}`, { yields: true })
  await makeIdle(first)
  await host.waitUntilRunning(second)
  expect((await chat(second)).status).toBe(200)
  await waitForStatus(client, first, 'sleeping')

  await delay(2_000)
  await makeIdle(second)
  expect((await chat(first)).status).toBe(200)
  await waitForStatus(client, second, 'sleeping')
  ended.abort()
  await watching
  expect(most.engines).toBe(1)
  expect(host.readUsed()).toBeGreaterThan(host.fileOf(shapes.half).bytes)
})
