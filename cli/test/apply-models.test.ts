// Own models, LoRAs and engine options in the file of `apply`.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { llamaCppLoras } from '../../server/src/adapters/model-runtime/engines/llama-cpp.ts'
import { registerClient } from '../../server/test/support/client.ts'
import { engines } from '../../server/test/support/engines.ts'
import { makeAdapterRepositories } from '../../server/test/support/hub/adapter-repositories.ts'
import { startHubServer } from '../../server/test/support/hub/hub-server.ts'
import type { HubServer } from '../../server/test/support/hub/hub-server.ts'
import { makeRepositories } from '../../server/test/support/hub/test-repositories.ts'
import { createScriptedRuntime, makeOffer } from '../../server/test/support/scripted-runtime.ts'
import { startTestServer } from '../../server/test/support/server.ts'
import type { TestServer } from '../../server/test/support/server.ts'
import { openShell } from './support/command.ts'
import type { Shell } from './support/command.ts'

const weights = join(import.meta.dirname, '../../catalog/weights/berth-tiny.gguf')

let hub: HubServer
let server: TestServer
let shell: Shell
let path: string
beforeAll(async () => {
  hub = await startHubServer({ ...makeRepositories(), ...makeAdapterRepositories() })
  const scripted = createScriptedRuntime()
  scripted.answer({ listOffers: () => [makeOffer('small', { formats: ['ggufv2'] })] })
  server = await startTestServer({
    runtime: { ...scripted, engines: [{ ...engines.llamaCpp, loras: llamaCppLoras }] },
    settings: { HF_ENDPOINT: hub.origin },
  })
  shell = await openShell({ BERTH_URL: server.url }, await registerClient(server.url))
  path = join(shell.configDirectory, 'berth.yaml')
})
afterAll(async () => {
  await shell.close()
  await server.close()
  await hub.close()
})

async function converge(content: object): Promise<void> {
  await writeFile(path, stringify(content))
  const { code, stderr } = await shell.berth(['apply', '-f', path, '--prune'])
  expect(code, stderr).toBe(0)
  expect(await shell.berth(['diff', '-f', path, '--prune'])).toMatchObject({ code: 0, stdout: '' })
}

test('apply imports models, serves LoRAs with engine options, and prunes a model when its deployment has ended', async () => {
  const models = {
    polite: { repository: 'acme/Tiny-LoRA-GGUF', base: 'berth-tiny' },
    Small: { repository: 'acme/Small-GGUF' },
  }
  await converge({
    name: 'p',
    models,
    deployments: {
      assistant: { model: 'berth-tiny', loras: ['polite'], engine_options: { 'cache-type-k': 'q8_0' } },
      small: { model: 'small' },
    },
  })
  expect(await shell.json(['show', 'assistant'])).toMatchObject({
    adapters: [{ model_name: 'polite' }],
    engine_options: { 'cache-type-k': 'q8_0' },
    managed_by: 'p',
  })
  const exported = await shell.berth(['export', '--name', 'p'])
  expect(exported.stderr).toBe('')
  expect(parse(exported.stdout).models).toMatchObject({
    polite: {
      repository: 'acme/Tiny-LoRA-GGUF',
      base: 'berth-tiny',
      revision: expect.stringMatching(/^\w{40}$/),
    },
    Small: { repository: 'acme/Small-GGUF' },
  })
  await writeFile(path, exported.stdout)
  expect(await shell.berth(['diff', '-f', path, '--prune'])).toMatchObject({ code: 0, stdout: '' })

  await converge({ name: 'p', deployments: { assistant: { model: 'berth-tiny' } } })
  expect(await shell.json(['show', 'assistant'])).toMatchObject({ adapters: [], engine_options: {} })
  expect(
    (await shell.json(['models'])).filter(({ owner }: { owner: string }) => owner === 'organization'),
  ).toEqual([])
})

test('an uploaded model goes by its name; one that nobody uploaded is refused before anything changes', async () => {
  const content = {
    name: 'u',
    teams: { Uploaders: {} },
    models: { handmade: {} },
    deployments: { mine: { model: 'handmade' } },
  }
  await writeFile(path, stringify(content))
  for (const [refused, message] of [
    [content, 'models.handmade: Your organization has no model handmade. Upload it with `berth upload`'],
    [{ ...content, models: {} }, 'deployments.mine.model: '],
  ] as const) {
    await writeFile(path, stringify(refused))
    expect(await shell.berth(['apply', '-f', path])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(message),
    })
  }
  expect(await shell.json(['teams'])).toEqual([])
  expect((await shell.berth(['upload', weights, '--name', 'handmade'])).code).toBe(0)
  await converge(content)
  const { stdout, stderr } = await shell.berth(['export', '--name', 'u'])
  expect(stderr).toBe('')
  expect(parse(stdout)).toMatchObject({
    models: { handmade: {} },
    deployments: { mine: { model: 'handmade' } },
  })
  await writeFile(path, stdout)
  expect(await shell.berth(['diff', '-f', path, '--prune'])).toMatchObject({ code: 0, stdout: '' })
  await converge({ name: 'u', models: { handmade: {} } })
  expect((await shell.json(['models'])).map(({ model_name: name }: any) => name)).toContain('handmade')
  await converge({ name: 'u', models: { taken: { repository: 'acme/Small-GGUF' } } })
  await writeFile(path, stringify({ name: 'u', models: { taken: {} } }))
  expect((await shell.berth(['diff', '-f', path])).stderr).toContain(
    'models.taken: The model taken comes from acme/Small-GGUF. Name its repository.',
  )
})

test('a model of another repository or commit is refused before anything changes', async () => {
  await converge({ name: 'q', models: { tuned: { repository: 'acme/Small-GGUF' } } })
  for (const [model, field] of [
    [{ repository: 'acme/Other' }, 'repository'],
    [{ repository: 'acme/small-gguf', revision: 'a'.repeat(40) }, 'revision'],
  ] as const) {
    await writeFile(path, stringify({ name: 'q', teams: { New: {} }, models: { tuned: model } }))
    expect(await shell.berth(['apply', '-f', path])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        new RegExp(`berth\\.yaml:\\d: models\\.tuned\\.${field}: The model tuned `),
      ),
    })
  }
  expect(await shell.json(['teams'])).toEqual([])
})
