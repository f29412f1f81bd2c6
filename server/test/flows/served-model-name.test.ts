// Answers name the model as the engine does, so engines have the name that most callers use.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import type { ScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const patience = { timeout: 30_000 }

let engine: RecordingEngine
let runtime: ScriptedRuntime
let server: TestServer
let client: Client
beforeAll(async () => {
  engine = await startRecordingEngine()
  engine.answer((response, { body }) => answerJson(response, body))
  runtime = createScriptedRuntime(engine.url)
  server = await startTestServer({ runtime, settings: { BILLING_TRIAL_MAX_ACTIVE: '9' } })
  client = await registerClient(server.url)
})
afterAll(async () => {
  await server.close()
  await engine.close()
})

/** The names of the model in the request to the engine, and in the answer to the caller. */
async function chat(model: string): Promise<{ sent: string; answered: string }> {
  const { body } = await client.post('/v1/chat/completions', { model, messages: [] })
  return { sent: JSON.parse(engine.last().body).model, answered: body.model }
}

const specOf = (id: string) => runtime.specs.findLast(({ deploymentId }) => deploymentId === id)!

test('an engine has the name of the model, which answers have whatever name the caller used', async () => {
  const { id } = await deploy(client)
  expect(specOf(id)).toMatchObject({ servedModelName: 'berth-tiny', modelUid: `dep-${id}` })
  for (const model of ['berth-tiny', `dep-${id}`, id]) {
    expect(await chat(model)).toEqual({ sent: 'berth-tiny', answered: 'berth-tiny' })
  }
})

test('a new engine has the alias of its deployment, and the others keep their name', async () => {
  const { id } = await deploy(client)
  const alias = 'team/chat'
  const changed = await client.patch(`/api/v1/model-deployments/${id}`, {
    alias,
    min_instances: 2,
    max_instances: 2,
  })
  expect(changed.status).toBe(200)
  await expect.poll(() => specOf(id), patience).toMatchObject({ servedModelName: alias })
  const chatTogether = async () => {
    const from = engine.requests.length
    const answers = await Promise.all([chat(alias), chat(alias)])
    const sent = engine.requests.slice(from).map(({ body }) => JSON.parse(body).model as string)
    expect(answers.map(({ answered }) => answered).toSorted()).toEqual(sent.toSorted())
    return sent
  }
  await expect.poll(chatTogether, patience).toEqual(expect.arrayContaining(['berth-tiny', alias]))
})
