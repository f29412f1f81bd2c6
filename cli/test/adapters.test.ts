// LoRAs: added to the catalog with the model that they change, and served by a deployment of it.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { llamaCppLoras } from '../../server/src/adapters/model-runtime/engines/llama-cpp.ts'
import { registerClient } from '../../server/test/support/client.ts'
import { engines } from '../../server/test/support/engines.ts'
import { makeAdapterRepositories } from '../../server/test/support/hub/adapter-repositories.ts'
import { startHubServer } from '../../server/test/support/hub/hub-server.ts'
import type { HubServer } from '../../server/test/support/hub/hub-server.ts'
import { createScriptedRuntime, makeOffer } from '../../server/test/support/scripted-runtime.ts'
import { startTestServer } from '../../server/test/support/server.ts'
import type { TestServer } from '../../server/test/support/server.ts'
import { openShell } from './support/command.ts'
import type { Shell } from './support/command.ts'

const repositories = makeAdapterRepositories()

let folder: string
let hub: HubServer
let server: TestServer
let shell: Shell
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-adapters-'))
  hub = await startHubServer(repositories)
  const scripted = createScriptedRuntime()
  scripted.answer({ listOffers: () => [makeOffer('small', { formats: ['ggufv2'] })] })
  server = await startTestServer({
    runtime: {
      ...scripted,
      loadsUploads: true,
      engines: [{ ...engines.llamaCpp, loras: llamaCppLoras }],
    },
    worker: false,
    settings: { HF_ENDPOINT: hub.origin },
  })
  shell = await openShell({ BERTH_URL: server.url }, await registerClient(server.url))
})
afterAll(async () => {
  await shell.close()
  await server.close()
  await hub.close()
  await rm(folder, { recursive: true, force: true })
})

test('import and upload name the base model; adapters sets and lists what a deployment serves', async () => {
  const named = ['import', 'acme/Tiny-LoRA-GGUF', '--name', 'polite']
  const refused = await shell.berth(named)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/LoRA of acme\/Tiny/) })
  const imported = await shell.berth([...named, '--base', 'berth-tiny'])
  expect(imported).toMatchObject({ code: 0, stdout: 'polite\n' })
  expect(imported.stderr).toContain('It is a LoRA of berth-tiny.')

  const path = join(folder, 'terse.gguf')
  await writeFile(path, repositories['acme/Tiny-LoRA-GGUF']!.files['tiny-lora-F32.gguf'] as Buffer)
  const uploaded = await shell.json(['upload', path, '--base', 'berth-tiny'])
  expect(uploaded).toMatchObject({ model_name: 'terse', base_model: 'berth-tiny' })

  await shell.berth(['deploy', 'berth-tiny', '--alias', 'assistant'])
  expect((await shell.berth(['adapters', 'assistant'])).stderr).toContain('berth-tiny serves no LoRAs.')
  const set = await shell.berth(['adapters', 'assistant', 'terse', 'polite'])
  expect(set.stdout).toMatch(/LORA +RANK +SIZE +STATE\nterse +4 .* starting\npolite +4 .* starting\n/)
  expect(await shell.json(['adapters', 'assistant'])).toMatchObject([
    { model_name: 'terse', ready: false },
    { model_name: 'polite' },
  ])
  expect((await shell.berth(['show', 'assistant'])).stdout).toMatch(/LoRAs +terse, polite/)
  expect(await shell.berth(['adapters', 'assistant', 'unknown'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no LoRA unknown of berth-tiny. It has polite, terse.'),
  })
  expect(await shell.json(['adapters', 'assistant', 'none'])).toEqual([])
})
