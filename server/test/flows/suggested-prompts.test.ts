import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const correctAnswers: Record<string, RegExp> = {
  'How do I deploy a model?': /catalog, pick a model and deploy it/,
  'What is 27 + 15?': /\b42\b/,
  'Tell me a story about a fox.': /\bfox\b.*\.$/s,
}

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer()
  client = await registerClient(server.url)
})
afterAll(() => server.close())

test('the bundled chat model answers each of its suggested prompts correctly', async () => {
  const { body: model } = await client.get('/api/v1/deployable-models/berth-tiny')
  expect(model.suggested_prompts.toSorted()).toEqual(Object.keys(correctAnswers).toSorted())
  await deploy(client)
  for (const [prompt, correct] of Object.entries(correctAnswers)) {
    for (let time = 0; time < 10; time++) {
      const messages = [{ role: 'user', content: prompt }]
      const { body } = await client.post('/v1/chat/completions', { model: 'berth-tiny', messages })
      expect(body.choices[0]).toMatchObject({
        finish_reason: 'stop',
        message: { content: expect.stringMatching(correct) },
      })
    }
  }
})
