import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEngine } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'

let engine: TestEngine
beforeAll(async () => {
  engine = startEngine()
  await engine.ready()
})
afterAll(() => engine.stop())

interface Described {
  token: string
  logprob: number
  bytes: number[] | null
}
interface Logprobs {
  content: (Described & { top_logprobs: Described[] })[]
}
interface Choice {
  message: { content: string }
  delta: { content?: string }
  logprobs: Logprobs | null
}

async function complete(body: Record<string, unknown>): Promise<Choice> {
  const response = await engine.chat({ max_tokens: 12, seed: 7, ...body })
  expect(response.status).toBe(200)
  return ((await response.json()) as { choices: Choice[] }).choices[0]!
}

test('each token has its log probability and the most likely tokens', async () => {
  const { message, logprobs } = await complete({ temperature: 0, logprobs: true, top_logprobs: 20 })
  expect(logprobs!.content.map(({ token }) => token).join('')).toBe(message.content)
  for (const { token, logprob, bytes, top_logprobs: top } of logprobs!.content) {
    expect(Buffer.from(bytes!).toString()).toBe(token)
    // Greedy sampling takes the most likely token.
    expect(top[0]).toMatchObject({ token, logprob })
    expect(top).toHaveLength(20)
    expect(top.map((one) => one.logprob)).toEqual(top.map((one) => one.logprob).toSorted((a, b) => b - a))
    const total = top.reduce((sum, one) => sum + Math.exp(one.logprob), 0)
    expect(total).toBeGreaterThan(0.2)
    expect(total).toBeLessThan(1.0001)
  }
})

test('log probabilities are those of the model, whatever changes the sampling', async () => {
  const first = async (body: Record<string, unknown>) => {
    const { logprobs } = await complete({ ...body, max_tokens: 1, logprobs: true, top_logprobs: 3 })
    return logprobs!.content[0]!.top_logprobs.map(({ logprob }) => logprob)
  }
  const expected = await first({ temperature: 0 })
  for (const body of [{ temperature: 2 }, { top_k: 1 }, { response_format: { type: 'json_object' } }]) {
    for (const [index, logprob] of (await first(body)).entries())
      expect(logprob).toBeCloseTo(expected[index]!, 3)
  }
})

test('logprobs do not change the answer, and are absent without being requested', async () => {
  const plain = await complete({})
  const { message, logprobs } = await complete({ logprobs: true })
  expect(message).toEqual(plain.message)
  expect(plain.logprobs).toBeNull()
  expect(logprobs!.content.every((entry) => entry.top_logprobs.length === 0 && entry.logprob <= 0)).toBe(true)
})

test('a stream has the log probabilities of its text', async () => {
  const whole = await complete({ logprobs: true, top_logprobs: 2 })
  const response = await engine.chat({
    max_tokens: 12,
    seed: 7,
    logprobs: true,
    top_logprobs: 2,
    stream: true,
  })
  const events = (await response.text()).split('\n\n').filter((event) => event.startsWith('data: {'))
  const choices = events.map((event) => (JSON.parse(event.slice(6)) as { choices: Choice[] }).choices[0]!)
  const texts = choices.filter(({ delta }) => (delta.content ?? '') !== '')
  expect(texts.every(({ logprobs }) => logprobs!.content.length > 0)).toBe(true)
  expect(choices.flatMap(({ logprobs }) => logprobs?.content ?? [])).toEqual(whole.logprobs!.content)
})
