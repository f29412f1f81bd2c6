import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { modelAlias, startEngine } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'

let engine: TestEngine
let client: OpenAI
beforeAll(async () => {
  engine = startEngine()
  client = new OpenAI({ baseURL: `${await engine.ready()}/v1`, apiKey: engine.key, maxRetries: 0 })
})
afterAll(() => engine.stop())

const prompt = 'The capital of France is'
const asked = { model: modelAlias, prompt, max_tokens: 8, temperature: 0, seed: 1 }

/** The ids of the tokens of a text, and their number. */
async function tokenize(body: object): Promise<{ count: number; tokens: number[]; max_model_len: number }> {
  const response = await engine.post('/tokenize', { model: modelAlias, ...body })
  expect(response.status, await response.clone().text()).toBe(200)
  return (await response.json()) as never
}

test('a text, its tokens, and lists of either give the same completion', async () => {
  const whole = await client.completions.create(asked)
  expect(whole).toMatchObject({ object: 'text_completion', model: modelAlias })
  expect(whole.choices).toMatchObject([{ index: 0, logprobs: null }])
  expect(whole.choices[0]!.text).not.toBe('')
  expect(whole.usage!.completion_tokens).toBeLessThanOrEqual(8)
  const { tokens } = await tokenize({ prompt })
  expect(whole.usage!.prompt_tokens).toBe(tokens.length)
  const texts = async (given: OpenAI.CompletionCreateParams['prompt']) => {
    const { choices, usage } = await client.completions.create({ ...asked, prompt: given })
    return { texts: choices.map(({ text }) => text), indexes: choices.map(({ index }) => index), usage }
  }
  const { text } = whole.choices[0]!
  expect((await texts(tokens)).texts).toEqual([text])
  const both = await texts([prompt, prompt])
  expect(both).toMatchObject({ texts: [text, text], indexes: [0, 1] })
  expect(both.usage!.prompt_tokens).toBe(2 * tokens.length)
  expect((await texts([tokens, tokens])).texts).toEqual([text, text])
})

test('n completions of each prompt follow each other, and a seed repeats them', async () => {
  const body = {
    ...asked,
    temperature: 2,
    top_k: -1,
    min_p: 0,
    n: 2,
    max_tokens: 16,
    prompt: ['Zx', 'One, two,'],
  }
  const [once, again] = [await client.completions.create(body), await client.completions.create(body)]
  expect(once.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3])
  expect(again.choices).toEqual(once.choices)
  expect(once.choices[0]!.text).not.toBe(once.choices[1]!.text)
})

test('a stream has the text of the complete answer, and usage only when asked for', async () => {
  const whole = await client.completions.create(asked)
  let text = ''
  const reasons: unknown[] = []
  for await (const chunk of await client.completions.create({ ...asked, stream: true })) {
    expect(chunk.usage ?? null).toBeNull()
    text += chunk.choices[0]!.text
    if (chunk.choices[0]!.finish_reason !== null) reasons.push(chunk.choices[0]!.finish_reason)
  }
  expect(text).toBe(whole.choices[0]!.text)
  expect(reasons).toEqual([whole.choices[0]!.finish_reason])
  const stream = await client.completions.create({
    ...asked,
    stream: true,
    stream_options: { include_usage: true },
  })
  const usages = []
  for await (const { usage, choices } of stream) if (usage) usages.push({ usage, choices })
  expect(usages).toEqual([{ usage: whole.usage, choices: [] }])
})

test('stop ends a completion before the text, and length ends one at max_tokens', async () => {
  const whole = await client.completions.create({ ...asked, max_tokens: 4 })
  const { text, finish_reason: reason } = whole.choices[0]!
  expect(['length', 'stop']).toContain(reason)
  const stop = text.slice(2, 4)
  const cut = await client.completions.create({ ...asked, max_tokens: 4, stop: [stop] })
  expect(cut.choices[0]).toMatchObject({ text: text.slice(0, text.indexOf(stop)), finish_reason: 'stop' })
})

test('echo with logprobs scores the tokens of the prompt, as lm-eval asks for them', async () => {
  const { tokens } = await tokenize({ prompt, add_special_tokens: false })
  const scored = async (given: number[]) => {
    const { choices } = await client.completions.create({
      ...asked,
      prompt: given,
      max_tokens: 1,
      echo: true,
      logprobs: 1,
    })
    return choices[0]!
  }
  const { text, logprobs } = await scored(tokens)
  expect(text.startsWith(prompt)).toBe(true)
  expect(logprobs!.tokens!.slice(0, tokens.length).join('')).toBe(prompt)
  expect(logprobs!.token_logprobs![0]).toBeNull()
  expect(logprobs!.top_logprobs![0]).toBeNull()
  for (const [index, logprob] of logprobs!.token_logprobs!.slice(1).entries()) {
    expect(logprob).toBeLessThanOrEqual(0)
    const top = Object.values(logprobs!.top_logprobs![index + 1]!)
    expect(logprob).toBeLessThanOrEqual(Math.max(...top))
  }
  // The probability of a token is that which the model gives it as the next one of the prompt before it.
  const next = await client.completions.create({
    ...asked,
    prompt: tokens.slice(0, -1),
    max_tokens: 1,
    logprobs: 20,
  })
  const known = next.choices[0]!.logprobs!.top_logprobs![0]!
  const last = logprobs!.tokens![tokens.length - 1]!
  if (last in known) expect(logprobs!.token_logprobs![tokens.length - 1]).toBeCloseTo(known[last]!, 3)
  expect(await scored(tokens)).toMatchObject({ logprobs: { token_logprobs: logprobs!.token_logprobs } })
})

test('echo without tokens to generate repeats the prompt', async () => {
  const { choices, usage } = await client.completions.create({ ...asked, echo: true, max_tokens: 0 })
  expect(choices).toMatchObject([{ text: prompt, finish_reason: 'length' }])
  expect(usage!.completion_tokens).toBe(0)
})

test.each<[string, object, RegExp]>([
  ['suffix without a model that fills in', { suffix: 'x' }, /suffix|fill in/],
  ['best_of', { best_of: 3 }, /best_of/],
  ['logit_bias', { logit_bias: { 5: 3 } }, /logit_bias/],
  ['no prompt', { prompt: undefined }, /prompt/],
  ['an empty token array', { prompt: [] }, /prompt/],
  ['a token of another vocabulary', { prompt: [[1], [999_999_999]] }, /prompt\.1/],
  ['a mixed list', { prompt: ['a', 1] }, /prompt/],
  ['nothing to do', { max_tokens: 0 }, /max_tokens/],
  ['too long a prompt', { prompt: 'a b '.repeat(4_000) }, /maximum context length is 2048 tokens/],
  ['too many logprobs', { logprobs: 21 }, /logprobs/],
])('%s is a 400 that names the field', async (_what, changes, message) => {
  const response = await engine.post('/v1/completions', { ...asked, ...changes })
  const { error } = (await response.json()) as { error: { message: string } }
  expect([response.status, error.message]).toEqual([400, expect.stringMatching(message)])
})

test('a caller who leaves ends the generation, and the engine tells what it used', async () => {
  const controller = new AbortController()
  const stream = await client.completions.create(
    { ...asked, max_tokens: 1500, stream: true, temperature: 1 },
    { signal: controller.signal, headers: { 'x-request-id': 'left' } },
  )
  for await (const _chunk of stream) {
    controller.abort()
    break
  }
  const response = await fetch(`${await engine.ready()}/v1/requests/left/usage`, {
    headers: { authorization: `Bearer ${engine.key}` },
  })
  const { usage } = (await response.json()) as { usage: OpenAI.CompletionUsage }
  expect(usage.prompt_tokens).toBe((await tokenize({ prompt })).count)
  expect(usage.completion_tokens).toBeGreaterThan(0)
  expect(usage.completion_tokens).toBeLessThan(1500)
})

test('tokenize counts a text and messages, as vLLM does', async () => {
  const text = await tokenize({ prompt })
  expect(text).toMatchObject({ count: text.tokens.length, max_model_len: 2048 })
  const messages = [{ role: 'user', content: 'Hello!' }]
  const chat = await tokenize({ messages })
  const { usage } = await client.chat.completions.create({
    model: modelAlias,
    messages: [{ role: 'user', content: 'Hello!' }],
    max_tokens: 1,
  })
  expect(chat.count).toBe(usage!.prompt_tokens)
  expect((await tokenize({ prompt, return_token_strs: true })) as object).toMatchObject({
    token_strs: expect.arrayContaining([expect.any(String)]),
  })
  const refused = await engine.post('/tokenize', { model: modelAlias })
  expect(refused.status).toBe(400)
})
