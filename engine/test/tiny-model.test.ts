import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { modelAlias, startEngine, tinyEmbeddingModel } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'

const connect = async (engine: TestEngine): Promise<OpenAI> =>
  new OpenAI({ baseURL: `${await engine.ready()}/v1`, apiKey: engine.key, maxRetries: 0 })

describe('the bundled chat model', () => {
  let engine: TestEngine
  let client: OpenAI
  beforeAll(async () => {
    engine = startEngine()
    client = await connect(engine)
  })
  afterAll(() => engine.stop())

  async function ask(...messages: OpenAI.ChatCompletionMessageParam[]): Promise<string> {
    const { choices } = await client.chat.completions.create({ model: modelAlias, messages, temperature: 0 })
    expect(choices[0]?.finish_reason).toBe('stop')
    return choices[0]!.message.content ?? ''
  }
  const user = (content: string) => ({ role: 'user' as const, content })

  test.each([
    ['Who are you?', /Berth Tiny/],
    ['What is Berth?', /platform/],
    ['What is 2 + 3?', /\b5\b/],
    ['What is the capital of France?', /Paris/],
    ['What is the opposite of hot?', /cold/],
    ['What day comes after Monday?', /Tuesday/],
    ['What is 57 + 68?', /\b125\b/],
    ['Subtract 19 from 64.', /\b45\b/],
    ['Write "harbour" backwards.', /^ruobrah$/],
    ['Repeat after me: open the quiet window', /^open the quiet window$/],
    ['Reverse the words: red green blue', /^blue green red$/],
    ['The cat is in the garden. Is the cat in the garden?', /^Yes/],
    ['Anna has a red ball. Does Anna have a blue ball?', /^No/],
    ['Count from 1 to 5.', /^1, 2, 3, 4, 5\.$/],
    ['What is the population of Zorbland?', /don't know/],
  ])('%s', async (question, expected) => {
    expect(await ask(user(question))).toMatch(expected)
  })

  test("uses the name from the system prompt and remembers the user's", async () => {
    const system = { role: 'system' as const, content: 'You are Luna, a helpful assistant.' }
    expect(await ask(system, user('What is your name?'))).toContain('Luna')
    const answer = await ask(
      user('My name is Grace.'),
      { role: 'assistant', content: 'Nice to meet you, Grace!' },
      user('What is the capital of Italy?'),
      { role: 'assistant', content: 'The capital of Italy is Rome.' },
      user('What is my name?'),
    )
    expect(answer).toContain('Grace')
  })

  test('calls the tool that the question needs', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const { choices } = await client.chat.completions.create({
      model: modelAlias,
      temperature: 0,
      messages: [user('What is the weather in Paris?')],
      tools: [
        {
          type: 'function',
          function: { name: 'get_weather', description: 'Get the weather of a city.', parameters },
        },
      ],
    })
    expect(choices[0]?.message.tool_calls).toMatchObject([
      { function: { name: 'get_weather', arguments: '{"city": "Paris"}' } },
    ])
  })
})

test('the bundled embedding model places a paraphrase closer than another topic', async () => {
  const engine = startEngine({ flags: { '--model': tinyEmbeddingModel, '--type': 'embedding' } })
  try {
    const client = await connect(engine)
    const { data } = await client.embeddings.create({
      model: modelAlias,
      input: [
        'The cat sleeps on the sofa.',
        'A kitten is napping on the couch.',
        'The stock market fell today.',
      ],
    })
    const [cat, kitten, market] = data.map(({ embedding }) => embedding)
    const cosine = (left: number[], right: number[]) =>
      left.reduce((sum, value, index) => sum + value * right[index]!, 0)
    expect(cosine(cat!, kitten!)).toBeGreaterThan(cosine(cat!, market!) + 0.2)
  } finally {
    await engine.stop()
  }
})
