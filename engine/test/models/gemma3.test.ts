import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { startLlamaServer } from './llama-server.ts'

const model = process.env['TEST_GEMMA3']!
let engine: TestEngine

beforeAll(async () => {
  engine = startEngine({ flags: { '--model': model, '--context': '1024' } })
  await engine.ready()
})

afterAll(() => engine.stop())

test('a model without a template completes texts as llama-server does', async () => {
  const reference = await startLlamaServer(model)
  onTestFinished(() => reference.stop())
  const body = { prompt: 'The capital of France is', max_tokens: 4, temperature: 0 }
  const ours = await engine.post('/v1/completions', { model: 'greeter', ...body })
  const theirs = await reference.post('/v1/completions', body)
  const readText = (answer: unknown) => (answer as { choices: [{ text: string }] }).choices[0].text
  expect(readText(await ours.json())).toBe(readText(theirs))
})

test('it refuses a chat by name', async () => {
  const response = await engine.chat({})
  const { error } = (await response.json()) as { error: { message: string } }
  expect([response.status, error.message]).toEqual([400, expect.stringContaining('no chat template')])
})
