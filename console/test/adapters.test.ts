import { afterAll, beforeAll, expect, test } from 'vitest'
import { llamaCppLoras } from '../../server/src/adapters/model-runtime/engines/llama-cpp.ts'
import { engines } from '../../server/test/support/engines.ts'
import { makeAdapterRepositories } from '../../server/test/support/hub/adapter-repositories.ts'
import { startHubServer } from '../../server/test/support/hub/hub-server.ts'
import type { HubServer } from '../../server/test/support/hub/hub-server.ts'
import { startRecordingEngine } from '../../server/test/support/recording-engine.ts'
import type { RecordingEngine } from '../../server/test/support/recording-engine.ts'
import { createScriptedRuntime, makeOffer } from '../../server/test/support/scripted-runtime.ts'
import { startTestServer } from '../../server/test/support/server.ts'
import { useConsole } from './support/console.ts'
import { createPerson, deployByApi, heading, registerByApi, see } from './support/steps.ts'

let hub: HubServer
let engine: RecordingEngine
beforeAll(async () => {
  hub = await startHubServer(makeAdapterRepositories())
})
afterAll(async () => {
  await hub.close()
  await engine.close()
})

const site = useConsole(async () => {
  engine = await startRecordingEngine()
  const scripted = createScriptedRuntime(engine.url)
  scripted.answer({ listOffers: () => [makeOffer('small', { formats: ['ggufv2'] })] })
  const runtime = { ...scripted, engines: [{ ...engines.llamaCpp, loras: llamaCppLoras }] }
  return startTestServer({ runtime, settings: { HF_ENDPOINT: hub.origin } })
})

test('an admin adds a LoRA, names its base model, and a deployment serves it', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const deployment = await deployByApi(page)

  await page.goto('/catalog')
  await page.getByRole('button', { name: 'Add a model' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Hugging Face repository').fill('acme/Tiny-LoRA-GGUF')
  await dialog.getByRole('button', { name: 'Check' }).click()
  await see(dialog.getByText('LoRA of acme/Tiny · Rank 4'))
  await dialog.getByLabel('Base model').selectOption('berth-tiny')
  await dialog.getByRole('button', { name: 'Check' }).click()
  await see(dialog.getByText('LoRA of berth-tiny · Rank 4'))
  await see(dialog.getByText('A deployment of berth-tiny can serve it'))
  await dialog.getByLabel('Model ID').fill('polite')
  await dialog.getByRole('button', { name: 'Add to catalog' }).click()
  await see(heading(page, /Tiny-LoRA-GGUF/))
  await see(page.getByText(/^A deployment of berth-tiny serves it/))

  await page.goto(`/deployments/${deployment}?tab=settings`)
  await page.getByRole('button', { name: 'Add polite' }).click()
  const served = page.getByRole('list', { name: 'LoRAs that the deployment serves' })
  await see(served.getByText(/^Rank 4 · .* · Ready$/))
  engine.answer((response) => {
    const chunk = { choices: [{ delta: { content: 'Good day to you.' }, finish_reason: 'stop' }] }
    response.setHeader('content-type', 'text/event-stream')
    response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)
  })
  await page.getByRole('link', { name: 'Open in playground: polite' }).click()
  await page.getByRole('textbox', { name: 'Message' }).fill('a')
  await page.getByRole('button', { name: 'Send' }).click()
  await see(page.getByText('Good day to you.'))
  await see(heading(page, /^berth-tiny:polite · /))
  expect(JSON.parse(engine.requests.at(-1)!.body).lora).toEqual([{ id: 0, scale: 1 }])
  const choice = page.getByLabel('Deployment', { exact: true })
  expect(await choice.getByRole('option').allTextContents()).toEqual([
    expect.stringMatching(/^berth-tiny · /),
    expect.stringMatching(/^berth-tiny:polite · /),
  ])
  await page.getByRole('button', { name: 'View code' }).click()
  await see(dialog.getByText(/"model": ".+:polite"/))

  await page.goto(`/deployments/${deployment}?tab=settings`)
  await page.getByRole('button', { name: 'Remove polite' }).click()
  await see(page.getByRole('button', { name: 'Add polite' }))
})
