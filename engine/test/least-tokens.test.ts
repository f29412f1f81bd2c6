import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { modelAlias, startEngine } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'
import { writeScriptedModel } from './support/scripted-model.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-least-'))
const template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"

/** Its model ends each answer at once. */
let engine: TestEngine
let client: OpenAI
beforeAll(async () => {
  const path = join(folder, 'silent.gguf')
  await writeScriptedModel({ path, template, answer: [], control: [] })
  engine = startEngine({ flags: { '--model': path } })
  client = new OpenAI({ baseURL: `${await engine.ready()}/v1`, apiKey: engine.key, maxRetries: 0 })
})
afterAll(async () => {
  await engine.stop()
  rmSync(folder, { recursive: true })
})

const chat = (more: object) =>
  client.chat.completions.create({
    model: modelAlias,
    messages: [{ role: 'user', content: 'Hello' }],
    ...more,
  })
const complete = (more: object) => client.completions.create({ model: modelAlias, prompt: 'Hello', ...more })

test('an answer has the least number of tokens, or all that it may have', async () => {
  for (const ask of [chat, complete]) {
    const outcome = async (more: object) => {
      const { choices, usage } = await ask({ max_tokens: 9, ...more })
      return [usage!.completion_tokens, choices[0]!.finish_reason]
    }
    expect(await outcome({})).toEqual([0, 'stop'])
    expect(await outcome({ min_tokens: 0, ignore_eos: false })).toEqual([0, 'stop'])
    expect(await outcome({ min_tokens: 5 })).toEqual([5, 'stop'])
    expect(await outcome({ min_tokens: 50 })).toEqual([9, 'length'])
    expect(await outcome({ ignore_eos: true })).toEqual([9, 'length'])
    expect(await outcome({ ignore_eos: true, temperature: 0, frequency_penalty: 1 })).toEqual([9, 'length'])
    expect(await outcome({ min_tokens: 3, stream_options: null, seed: 4 })).toEqual([3, 'stop'])
  }
})

test('a grammar decides where an answer ends, so both fields are refused with a schema', async () => {
  for (const [param, value] of [
    ['min_tokens', 5],
    ['ignore_eos', true],
  ] as const) {
    const refused = chat({ [param]: value, response_format: { type: 'json_object' } })
    await expect(refused).rejects.toMatchObject({ status: 400, param })
  }
})

test('the end token has an entry in the log probabilities, and no text', async () => {
  const { choices, usage } = await complete({ max_tokens: 1, echo: true, logprobs: 1 })
  const { text, finish_reason: reason, logprobs } = choices[0]!
  expect([text, reason]).toEqual(['Hello', 'stop'])
  const { prompt_tokens: prompt, completion_tokens: completion } = usage!
  expect(completion).toBe(0)
  expect(logprobs!.token_logprobs).toHaveLength(prompt + 1)
  expect(logprobs!.tokens!.slice(0, -1).join('')).toBe('Hello')
  expect(logprobs!.token_logprobs!.at(-1)).toBeLessThanOrEqual(0)
  const plain = await complete({ max_tokens: 1, logprobs: 1 })
  expect(plain.choices[0]).toMatchObject({ text: '', logprobs: { tokens: [expect.any(String)] } })
})
