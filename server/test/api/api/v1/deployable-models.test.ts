import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApplication } from '../../../../src/wiring/create-application.ts'
import { readConfig } from '../../../../src/config/config.ts'
import { createLog } from '../../../../src/base/log.ts'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { adminSettings, runAdmin } from '../../../support/admin.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/deployable-models'

function makeEntry(id: string, changes: Record<string, unknown> = {}) {
  return {
    id,
    model_name: id,
    display_name: `The ${id}`,
    provider: 'Harbour',
    family: 'ships',
    model_type: 'LLM',
    description: 'A vessel.',
    license: 'mit',
    tags: ['chat'],
    context_length: 2048,
    sizes: [
      {
        billions: 0.5,
        variants: [
          { format: 'ggufv2', quantizations: ['Q4_0', 'Q8_0'], weights: { file: '{quantization}.gguf' } },
          { format: 'pytorch', quantizations: ['none'], weights: { huggingface: 'harbour/model' } },
        ],
      },
    ],
    default: { format: 'ggufv2', billions: 0.5, quantization: 'Q4_0' },
    ...changes,
  }
}

const models = [
  makeEntry('zebra', {
    tags: ['Fast-Ferry', 'chat'],
    suggested_prompts: ['Which ship is fast?'],
    description: 'Cuts 100% of the waves.',
  }),
  makeEntry('albatross', { provider: 'Sky', display_name: 'Émile the Albatross', family: 'Birds' }),
  makeEntry('retired', { enabled: false }),
  makeEntry('under_score', { sort_order: 1, description: 'Sits at a back\\slash.' }),
  makeEntry('vector', { model_type: 'embedding' }),
]

let folder: string
let catalogFile: string
let server: TestServer
let client: Client
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-catalog-'))
  catalogFile = join(folder, 'models.yaml')
  await writeFile(catalogFile, JSON.stringify({ models }))
  server = await startTestServer({ worker: false, settings: { CATALOG_FILE: catalogFile } })
  client = await registerClient(server.url)
})
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

async function listIds(query = ''): Promise<string[]> {
  const answer = await client.get(`${path}${query}`)
  expect(answer.status).toBe(200)
  return answer.body.items.map((model: { id: string }) => model.id)
}

test('GET /api/v1/deployable-models: enabled LLMs by sort_order, then name, as {items}', async () => {
  const answer = await client.get(path)
  expect(Object.keys(answer.body)).toEqual(['items'])
  expect(await listIds()).toEqual(['under_score', 'zebra', 'albatross'])
})

test('GET /api/v1/deployable-models: a model has exactly the fields of the contract and its variants', async () => {
  const [model] = (await client.get(`${path}?q=albatross`)).body.items
  const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(model).toEqual({
    id: 'albatross',
    model_name: 'albatross',
    display_name: 'Émile the Albatross',
    provider: 'Sky',
    family: 'Birds',
    model_type: 'LLM',
    description: 'A vessel.',
    license: 'mit',
    context_tokens: 2048,
    tags: ['chat'],
    suggested_prompts: [],
    enabled: true,
    sort_order: 2,
    owner: 'installation',
    managed_by: null,
    base_model: null,
    source: {
      kind: 'catalog',
      repository: null,
      commit: null,
      file_name: null,
      bytes: null,
      endpoint_id: null,
      prices: null,
    },
    created_at: instant,
    updated_at: instant,
    variants: [
      { model_format: 'ggufv2', model_size_in_billions: 0.5, quantizations: ['Q4_0', 'Q8_0'], default: true },
      { model_format: 'pytorch', model_size_in_billions: 0.5, quantizations: ['none'], default: false },
    ],
    default_variant: { model_format: 'ggufv2', model_size_in_billions: 0.5, quantization: 'Q4_0' },
  })
})

test('a command of an operator whose shell lacks CATALOG_FILE leaves the catalog of the server alone', async () => {
  const result = await runAdmin(adminSettings(server), ['organization', 'find', 'nobody'])
  expect(result).toMatchObject({ code: 0 })
  expect(await listIds()).toEqual(['under_score', 'zebra', 'albatross'])
})

test('GET /api/v1/deployable-models/{model_id}: the suggested prompts come from the catalog file', async () => {
  const { body } = await client.get(`${path}/zebra`)
  expect(body.suggested_prompts).toEqual(['Which ship is fast?'])
})

test('GET /api/v1/deployable-models: model_type=embedding lists only embedding models', async () => {
  expect(await listIds('?model_type=embedding')).toEqual(['vector'])
})

test('GET /api/v1/deployable-models: an unknown model_type gives an empty list', async () => {
  for (const word of ['video', 'llm', '']) expect(await listIds(`?model_type=${word}`)).toEqual([])
})

test('GET /api/v1/deployable-models: enabled_only=false shows disabled models too', async () => {
  expect(await listIds('?enabled_only=false')).toEqual(['under_score', 'zebra', 'albatross', 'retired'])
})

test.each(['False', 'FALSE', '0', 'no', 'off'])(
  'GET /api/v1/deployable-models: enabled_only=%s is false, and its opposite true',
  async (word) => {
    expect(await listIds(`?enabled_only=${word}`)).toContain('retired')
    for (const opposite of ['True', '1', 'yes', 'on']) {
      expect(await listIds(`?enabled_only=${opposite}`)).not.toContain('retired')
    }
  },
)

test('GET /api/v1/deployable-models: provider matches exactly and case-insensitively', async () => {
  expect(await listIds('?provider=sky')).toEqual(['albatross'])
  expect(await listIds('?provider=Sk')).toEqual([])
  expect(await listIds('?provider=')).toEqual(await listIds(''))
})

test.each([
  ['name', 'ZEBRA', ['zebra']],
  ['display name', 'émile', ['albatross']],
  ['display name in capitals', 'ÉMILE', ['albatross']],
  ['family', 'birds', ['albatross']],
  ['description', 'Waves', ['zebra']],
  ['a tag', 'fast-ferry', ['zebra']],
  ['words of different fields', 'ships ferry', ['zebra']],
  ['nothing but spaces', '  ', ['under_score', 'zebra', 'albatross']],
  ['no match', 'submarine', []],
  ['% as itself', '%', ['zebra']],
  ['_ as itself', '_', ['under_score']],
  ['\\ as itself', '\\', ['under_score']],
  ['a quote, which no model has', '"', []],
  ['a bracket, which no model has', '[', []],
  ['no text across two tags', 'ferry",', []],
])('GET /api/v1/deployable-models: q matches %s', async (_what, q, expected) => {
  expect(await listIds(`?q=${encodeURIComponent(q)}`)).toEqual(expected)
})

test.each(['?enabled_only=maybe', '?model_type=%00', '?q=%00'])(
  'GET /api/v1/deployable-models: %s: 422',
  async (query) => {
    const answer = await client.get(`${path}${query}`)
    expect(answer.status).toBe(422)
    expect(answer.body).toMatchObject({ code: 'validation_failed', errors: [{ location: 'query' }] })
  },
)

test('GET /api/v1/deployable-models/{id}: the same model as in the list', async () => {
  const [listed] = (await client.get(`${path}?q=zebra`)).body.items
  const answer = await client.get(`${path}/zebra`)
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual(listed)
})

test('GET /api/v1/deployable-models/{id}: a disabled model is a 404 unless enabled_only=false', async () => {
  expect((await client.get(`${path}/retired`)).status).toBe(404)
  const answer = await client.get(`${path}/retired?enabled_only=false`)
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ id: 'retired', enabled: false })
})

test('GET /api/v1/deployable-models/{id}: finds an embedding model without model_type', async () => {
  expect((await client.get(`${path}/vector`)).body).toMatchObject({ model_type: 'embedding' })
})

test.each(['absent', '%00', 'a%2Fb'])(
  'GET /api/v1/deployable-models/%s: 404 for an unknown or invalid id',
  async (id) => {
    const answer = await client.get(`${path}/${id}`)
    expect(answer.status).toBe(404)
    expect(answer.body.code).toBe('not_found')
  },
)

test.each([path, `${path}/zebra`])('GET %s: 401 without a session', async (each) => {
  expect((await createClient(server.url).get(each)).status).toBe(401)
})

// This test comes last because it replaces the catalog of the tests above.
test('a restart with another catalog file updates, disables, restores and renames models', async () => {
  const before = (await client.get(`${path}?enabled_only=false`)).body.items
  const find = (items: { id: string; created_at: string }[], id: string) =>
    items.find((item) => item.id === id)
  const settings = {
    ROLE: 'api',
    SECRET_KEY: server.application.secretKey,
    DATABASE_URL: server.application.config.databaseUrl!,
    DATA_DIR: server.dataDirectory,
    CATALOG_FILE: catalogFile,
  }
  const start = async (entries: unknown[]) => {
    await writeFile(catalogFile, JSON.stringify({ models: entries }))
    const again = await createApplication(readConfig(settings), {
      log: createLog({ level: 'silent' }, () => {}),
    })
    await again.close()
    return (await client.get(`${path}?enabled_only=false`)).body.items
  }
  const zebra = makeEntry('zebra', { model_name: 'albatross' })
  const albatross = makeEntry('albatross', { model_name: 'zebra' })
  const swapped = await start([zebra, albatross, models[2]])
  expect(find(swapped, 'zebra')).toMatchObject({ model_name: 'albatross', enabled: true, tags: ['chat'] })
  expect(find(swapped, 'albatross')).toMatchObject({
    model_name: 'zebra',
    enabled: true,
    provider: 'Harbour',
  })
  expect(find(swapped, 'under_score')).toMatchObject({ enabled: false })
  expect(find(swapped, 'retired')).toEqual(find(before, 'retired'))
  expect((await client.get(`${path}/under_score`)).status).toBe(404)

  const taken = await start([makeEntry('newcomer', { model_name: 'under_score' })])
  expect(find(taken, 'newcomer')).toMatchObject({ model_name: 'under_score', enabled: true })
  const created = await client.post('/api/v1/model-deployments', { model_name: 'under_score' })
  expect(created.status).toBe(201)

  const back = await start([makeEntry('under_score', models[3])])
  expect(find(back, 'under_score')).toMatchObject({
    enabled: true,
    created_at: find(before, 'under_score')?.created_at,
  })
  expect(find(back, 'newcomer')).toMatchObject({ enabled: false })
})
