import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../../../support/client.ts'
import { deploy } from '../../../support/deployments.ts'
import { startAnsweringServer } from '../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../support/recording-engine.ts'
import type { TestServer } from '../../../support/server.ts'

let close: () => Promise<void>
let server: TestServer
let engine: RecordingEngine
beforeAll(async () => {
  ;({ server, engine, close } = await startAnsweringServer({ INFERENCE_ROUTING: 'prefix' }))
})
afterAll(() => close())

const system = { role: 'system', content: 'You are a pilot.' }
const answer = { role: 'assistant', content: 'Yes.' }
const say = (content: string) => ({ role: 'user', content })

async function deployThree() {
  const person = await registerClient(server.url)
  for (let count = 0; count < 3; count += 1) await deploy(person)
  /** Sends a request and returns the key of its engine, which tells the deployment. */
  const findTarget = async (path: string, body: object): Promise<unknown> => {
    const response = await person.post(path, { model: 'berth-tiny', ...body })
    expect(response.status).toBe(200)
    return engine.requests.at(-1)!.headers.authorization
  }
  return findTarget
}

test('a conversation stays with one of several deployments, and conversations spread over all of them', async () => {
  const findTarget = await deployThree()
  const targets = new Set<unknown>()
  for (let id = 0; id < 30; id += 1) {
    const messages: object[] = [system, say(`Question ${id}`)]
    const first = await findTarget('/v1/chat/completions', { messages })
    for (let turn = 0; turn < 2; turn += 1) {
      messages.push(answer, say(`And then ${turn}?`))
      expect(await findTarget('/v1/chat/completions', { messages })).toBe(first)
    }
    targets.add(first)
  }
  expect(targets.size).toBe(3)
})

test('conversations of the other formats stay as well, translated or not', async () => {
  const findTarget = await deployThree()
  const targets = new Set<unknown>()
  for (let id = 0; id < 20; id += 1) {
    const opening = [say(`Question ${id}`)]
    const more = [...opening, answer, say('And then?')]
    const ofMessages = { system: 'You are a pilot.', max_tokens: 10 }
    const first = await findTarget('/v1/messages', { ...ofMessages, messages: opening })
    expect(await findTarget('/v1/messages', { ...ofMessages, messages: more })).toBe(first)
    const other = await findTarget('/v1/responses', { input: opening })
    expect(await findTarget('/v1/responses', { input: more })).toBe(other)
    targets.add(first).add(other)
  }
  expect(targets.size).toBe(3)
})

test('requests without messages go where the fewest are in flight', async () => {
  const findTarget = await deployThree()
  const targets = new Set<unknown>()
  for (let id = 0; id < 10; id += 1) targets.add(await findTarget('/v1/completions', { prompt: `${id}` }))
  // With none in flight, that is always the same one.
  expect(targets.size).toBe(1)
})
