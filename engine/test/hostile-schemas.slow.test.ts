import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSchemaGenerator } from '../../grammar/test/support/random-schemas.ts'
import { modelAlias, startEngine } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'

const count = Number(process.env['HOSTILE_SCHEMAS'] ?? 100)
const seed = Number(process.env['HOSTILE_SEED'] ?? 1 + (Date.now() % 1e9))
/** The most that a request of another caller may wait */
const maxBlockedMs = 1000

let engine: TestEngine
beforeAll(async () => {
  engine = startEngine()
  await engine.ready()
})
afterAll(() => engine.stop())

test(`${count} random schemas block no engine for a second, and end none (HOSTILE_SEED=${seed})`, async () => {
  const { pid } = engine.process
  const next = createSchemaGenerator(seed)
  const url = await engine.url()
  const headers = { authorization: `Bearer ${engine.key}` }
  /** Sends chats one after another. Resolves to the longest that another request waits meanwhile. */
  const measure = async (chat: () => Promise<void>): Promise<number> => {
    const done = new AbortController()
    let longest = 0
    const watching = (async () => {
      while (!done.signal.aborted) {
        const began = performance.now()
        await (await fetch(`${url}/v1/models`, { headers })).json()
        longest = Math.max(longest, performance.now() - began)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })()
    for (let sent = 0; sent < count; sent++) await chat()
    done.abort()
    await watching
    return longest
  }
  const chat = { model: modelAlias, messages: [{ role: 'user', content: 'x' }], max_tokens: 8 }
  const usual = await measure(async () => {
    await (await engine.chat(chat)).text()
  })
  const longest = await measure(async () => {
    const response_format = { type: 'json_schema', json_schema: { name: 'x', schema: next() } }
    const response = await engine.chat({ ...chat, response_format })
    expect([200, 400], JSON.stringify(response_format).slice(0, 2000)).toContain(response.status)
    await response.text()
  })
  // On a machine with other work, ordinary chats make others wait as well.
  expect(longest).toBeLessThan(Math.max(maxBlockedMs, 3 * usual))
  expect([engine.process.exitCode, engine.process.pid]).toEqual([null, pid])
})
