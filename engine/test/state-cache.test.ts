import { readdirSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { startEngine } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'

let engine: TestEngine | null = null
afterEach(async () => {
  await engine?.stop()
  engine = null
})

interface Completion {
  choices: { message: { content: string } }[]
  usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } }
}

/** Asks about a long text and returns the answer and the share of the prompt that came from a cache. */
async function ask(word: string, question: string, more: object = {}) {
  const text = Array.from({ length: 60 }, (_, index) => `${word} ${index}`).join(' ')
  const response = await engine!.chat({
    messages: [{ role: 'user', content: `${text} ${question}` }],
    temperature: 0,
    max_tokens: 16,
    ...more,
  })
  expect(response.status).toBe(200)
  const { choices, usage } = (await response.json()) as Completion
  return {
    answer: choices[0]!.message.content,
    reused: usage.prompt_tokens_details.cached_tokens / usage.prompt_tokens,
  }
}

test('a conversation that lost its sequence goes on where it was', async () => {
  engine = startEngine({ flags: { '--parallel': '1' } })
  await engine.ready()
  const { answer } = await ask('river', 'Hello')
  for (const word of ['train', 'music', 'stone']) expect((await ask(word, 'Hello')).reused).toBeLessThan(0.2)
  const again = await ask('river', 'Hello')
  expect(again.answer).toBe(answer)
  expect(again.reused).toBeGreaterThan(0.9)
  expect((await ask('train', 'Goodbye')).reused).toBeGreaterThan(0.9)
})

test('requests with another salt find neither the sequence nor the saved state of a conversation', async () => {
  engine = startEngine({ flags: { '--parallel': '1' } })
  await engine.ready()
  const mine = { cache_salt: 'mine' }
  const { answer } = await ask('river', 'Hello', mine)
  expect((await ask('river', 'Hello')).reused, 'in the sequence').toBe(0)
  expect((await ask('river', 'Hello', { cache_salt: 'theirs' })).reused, 'saved').toBe(0)
  const again = await ask('river', 'Hello', mine)
  expect(again.answer).toBe(answer)
  expect(again.reused).toBeGreaterThan(0.9)
  expect((await ask('river', 'Goodbye', mine)).reused).toBeGreaterThan(0.9)
})

test('without a cache only the last conversation of a sequence is reused', async () => {
  engine = startEngine({ flags: { '--parallel': '1', '--state-cache-mib': '0' } })
  await engine.ready()
  await ask('river', 'Hello')
  await ask('train', 'Hello')
  expect((await ask('river', 'Hello')).reused).toBeLessThan(0.2)
})

test('a full cache drops the least recently used conversation, and nothing remains in memory without the engine', async () => {
  const listFiles = () => readdirSync('/dev/shm').filter((name) => name.startsWith('berth-engine-'))
  engine = startEngine({ flags: { '--parallel': '1', '--state-cache-mib': '4' } })
  await engine.ready()
  const words = ['river', 'train', 'music', 'stone', 'paper', 'light', 'house', 'bread', 'green']
  for (const word of words) await ask(word, 'Hello')
  expect((await ask('bread', 'Hello')).reused).toBeGreaterThan(0.9)
  expect((await ask('river', 'Hello')).reused).toBeLessThan(0.2)
  expect(listFiles()).toEqual([])
})

test('a cache that may grow keeps more conversations than planned while the machine has memory', async () => {
  engine = startEngine({
    flags: { '--parallel': '1', '--state-cache-mib': '4', '--state-cache-grows': 'yes' },
  })
  await engine.ready()
  const words = ['river', 'train', 'music', 'stone', 'paper', 'light', 'house', 'bread', 'green']
  for (const word of words) await ask(word, 'Hello')
  expect((await ask('river', 'Hello')).reused).toBeGreaterThan(0.9)
})
