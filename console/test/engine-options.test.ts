import { afterAll, expect, test } from 'vitest'
import { engines } from '../../server/test/support/engines.ts'
import { startRecordingEngine } from '../../server/test/support/recording-engine.ts'
import type { RecordingEngine } from '../../server/test/support/recording-engine.ts'
import { createScriptedRuntime, makeOffer } from '../../server/test/support/scripted-runtime.ts'
import { startTestServer } from '../../server/test/support/server.ts'
import { useConsole } from './support/console.ts'
import { callByApi, createPerson, registerByApi, see, seeGone } from './support/steps.ts'

let engine: RecordingEngine
const installed = [{ ...engines.llamaCpp, version: '1', versions: ['1'] }]
afterAll(() => engine.close())

const site = useConsole(async () => {
  engine = await startRecordingEngine()
  const runtime = { ...createScriptedRuntime(engine.url), engines: installed }
  runtime.answer({ listOffers: () => [makeOffer('small', { formats: ['ggufv2'] })] })
  runtime.describeCommand = async ({ engineOptions = {} }) =>
    ['llama-server', ...Object.entries(engineOptions).flat()].map(String)
  return startTestServer({ runtime, settings: { BILLING_TRIAL_MAX_ACTIVE: '4' } })
})

test('an admin deploys with options of the engine, changes them, and updates the engine', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await page.goto('/catalog/berth-tiny')
  await page.getByRole('button', { name: 'Deploy', exact: true }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Advanced', { exact: true }).click()
  const options = dialog.getByLabel('Engine options')
  await options.fill('=1')
  await see(dialog.getByText('“=1” is no option. Write name=value.'))
  expect(await dialog.getByRole('button', { name: 'Deploy', exact: true }).isDisabled()).toBe(true)
  await options.fill('cache-type-k=q8_0')
  await see(dialog.getByText('llama-server cache-type-k q8_0'))
  await dialog.getByRole('button', { name: 'Deploy', exact: true }).click()
  await page.waitForURL('**/deployments/*')
  await page.getByRole('tab', { name: 'Settings' }).click()
  await see(page.getByText('cache-type-k=q8_0'))

  const id = new URL(page.url()).pathname.split('/').at(-1)!
  await callByApi(page.request, 'PATCH', `/api/v1/model-deployments/${id}`, { managed_by: 'platform' })
  await page.reload()
  await page.getByRole('button', { name: 'Set options' }).click()
  await see(dialog.getByText('The next “berth apply” of platform overwrites changes.'))
  await options.fill('seed=1')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await seeGone(dialog)
  await see(page.getByText('seed=1', { exact: true }))

  installed.splice(0, 1, { ...engines.llamaCpp, version: '2', versions: ['2', '1'] })
  await page.reload()
  await page.getByRole('button', { name: 'Update to 2' }).click()
  await seeGone(page.getByRole('button', { name: 'Update to 2' }))
  await page.getByRole('tab', { name: 'Overview' }).click()
  await see(page.getByText('llama.cpp b2'))
})
