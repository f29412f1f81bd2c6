import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { replaceCatalog } from '../../../../src/features/catalog/replace-catalog.ts'
import { readCatalogFile } from '../../../../src/features/catalog/sources/file.ts'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { startHubServer } from '../../../support/hub/hub-server.ts'
import type { HubServer } from '../../../support/hub/hub-server.ts'
import { commitOf, makeRepositories } from '../../../support/hub/test-repositories.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { joinClient } from '../../../support/organizations.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/api/v1/deployable-models'
const hubToken = 'hf_of_acme'

let hub: HubServer
let isHubDown = false
let server: TestServer
let admin: Client
let member: Client
let stranger: Client
beforeAll(async () => {
  hub = await startHubServer(makeRepositories(), {
    tokens: [hubToken, 'hf_of_the_operator'],
    renamed: { 'acme/Old': 'acme/Small' },
    intercept: (_request, response) => {
      if (isHubDown) response.destroy()
      return isHubDown
    },
  })
  server = await startTestServer({
    runtime: createScriptedRuntime(),
    worker: false,
    settings: { HF_ENDPOINT: hub.origin, HF_TOKEN: 'hf_of_the_operator' },
  })
  admin = await registerClient(server.url)
  member = await joinClient(server, admin, 'member')
  stranger = await registerClient(server.url)
})
afterAll(async () => {
  await server.close()
  await hub.close()
})

async function importModel(body: object) {
  const answer = await admin.post(path, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body
}

describe('POST /api/v1/deployable-models/inspect', () => {
  test('a variant per quantization with exact bytes, its engine and its instance; nothing is stored', async () => {
    const before = (await admin.get(path)).body.items.length
    const { status, body } = await member.post(`${path}/inspect`, { huggingface: 'acme/Small-GGUF' })
    expect(status, JSON.stringify(body)).toBe(200)
    const { files } = makeRepositories()['acme/Small-GGUF']!
    const sizeOf = (name: string) => (files[name] as Buffer).length
    expect(body).toMatchObject({
      repository: 'acme/Small-GGUF',
      commit: commitOf('1'),
      license: 'apache-2.0',
      gated: false,
      model_type: 'LLM',
      context_tokens: 40_960,
      tags: ['chat', 'tools', 'reasoning', 'vision'],
      currency: 'usd',
    })
    expect(body.variants).toHaveLength(2)
    expect(body.variants[0]).toMatchObject({
      model_format: 'ggufv2',
      quantizations: ['Q8_0'],
      weight_bytes: sizeOf('Small-Q8_0-00001-of-00002.gguf') + sizeOf('Small-Q8_0-00002-of-00002.gguf'),
      engine: 'embedded',
      runs: true,
      reason: null,
      instance_type: 'small',
    })
    expect(body.variants[1]).toMatchObject({
      quantizations: ['Q4_K_M'],
      weight_bytes: sizeOf('Small-Q4_K_M.gguf'),
      model_size_in_billions: 0.00522,
    })
    expect((await admin.get(path)).body.items).toHaveLength(before)
  })

  test.each([
    'https://huggingface.co/acme/Small',
    'huggingface.co/acme/Small/tree/main',
    ' acme/Small ',
    'acme/Old',
  ])('huggingface: %s is the same repository', async (huggingface) => {
    const { body } = await member.post(`${path}/inspect`, { huggingface })
    expect(body.repository).toBe('acme/Small')
  })

  test('a variant without an engine or a format without one has a reason', async () => {
    const { body } = await member.post(`${path}/inspect`, { huggingface: 'acme/Pickle' })
    expect(body.variants).toEqual([
      expect.objectContaining({
        model_format: 'pickle',
        runs: false,
        engine: null,
        reason: expect.stringMatching(/^Pickle files can run code .*\.$/),
      }),
    ])
  })

  test('a quantization that no file name has is that of the header', async () => {
    const { body } = await member.post(`${path}/inspect`, { huggingface: 'acme/Unnamed-GGUF' })
    expect(body.variants).toMatchObject([{ quantizations: ['Q4_K_M'], runs: true }])
  })

  test('a reranking model is one by its pooling; a classifier of several outputs is none', async () => {
    const inspect = async (huggingface: string) =>
      (await member.post(`${path}/inspect`, { huggingface })).body
    expect(await inspect('acme/Ranker-GGUF')).toMatchObject({
      model_type: 'rerank',
      tags: ['rerank'],
      variants: [{ runs: true }],
    })
    const several = await inspect('acme/Classifier')
    expect(several.variants).toMatchObject([
      { runs: false, reason: 'A classifier of several outputs can not be deployed.' },
    ])
    const single = await inspect('acme/Ranker')
    expect(single.variants[0].reason).not.toMatch(/classifier/)
  })

  test.each([
    ['acme/Absent', 'main', 422, 'repository_not_found'],
    ['acme/Small', 'no-such-branch', 422, 'repository_not_found'],
    ['acme/Private', 'main', 422, 'repository_not_found'],
    ['acme/Licensed', 'main', 422, 'repository_gated'],
  ])('%s at %s: %d %s', async (huggingface, revision, status, code) => {
    const answer = await member.post(`${path}/inspect`, { huggingface, revision })
    expect(answer.status).toBe(status)
    expect(answer.body.code).toBe(code)
  })

  test('a Hub that closes every connection: 503 hub_unreachable', async () => {
    isHubDown = true
    const answer = await member.post(`${path}/inspect`, { huggingface: 'acme/Small-GGUF' })
    isHubDown = false
    expect(answer).toMatchObject({ status: 503, body: { code: 'hub_unreachable' } })
  })

  test('a token in the request reads a gated repository, and is not stored', async () => {
    const given = await member.post(`${path}/inspect`, { huggingface: 'acme/Licensed', token: hubToken })
    expect(given.body).toMatchObject({ gated: true, variants: [{ runs: true }] })
    const again = await member.post(`${path}/inspect`, { huggingface: 'acme/Licensed' })
    expect(again.body.code).toBe('repository_gated')
  })

  test.each([
    '',
    'acme',
    'acme/../etc',
    '/etc/passwd',
    'file:///etc/passwd',
    'http://127.0.0.1:9/a/b c',
    'a/b/c',
  ])('%j is no repository: 422, and nothing is requested', async (huggingface) => {
    const before = hub.requests.length
    const answer = await member.post(`${path}/inspect`, { huggingface })
    expect(answer.status).toBe(422)
    expect(answer.body.code).toBe('validation_failed')
    expect(hub.requests).toHaveLength(before)
  })
})

describe('POST /api/v1/deployable-models', () => {
  test('201 with the Model and its source; its variants keep the commit', async () => {
    const model = await importModel({ huggingface: 'acme/Small-GGUF', model_name: 'small' })
    const { files } = makeRepositories()['acme/Small-GGUF']!
    const bytes = Object.entries(files)
      .filter(([name]) => /Q[48]/.test(name))
      .reduce((sum, [, content]) => sum + (content as Buffer).length, 0)
    expect(model).toMatchObject({
      model_name: 'small',
      display_name: 'Small-GGUF',
      provider: 'acme',
      family: 'qwen3',
      model_type: 'LLM',
      enabled: true,
      owner: 'organization',
      source: {
        kind: 'huggingface',
        repository: 'acme/Small-GGUF',
        commit: commitOf('1'),
        file_name: null,
        endpoint_id: null,
        prices: null,
        bytes,
      },
      variants: [{ model_format: 'ggufv2', quantizations: ['Q8_0', 'Q4_K_M'], default: true }],
      default_variant: { quantization: 'Q4_K_M' },
    })
    const listed = (await member.get(`${path}?q=acme%2FSmall`)).body.items
    expect(listed).toEqual([model])
  })

  test('model_name: the name of the repository in lower case by default; unique, in any case: 409 model_name_taken', async () => {
    expect(await importModel({ huggingface: 'acme/Small-GGUF' })).toMatchObject({ model_name: 'small-gguf' })
    for (const model_name of ['Small-GGUF', 'berth-tiny', 'BERTH-TINY']) {
      const answer = await admin.post(path, { huggingface: 'acme/Small', model_name })
      expect(answer.status).toBe(409)
      expect(answer.body.code).toBe('model_name_taken')
    }
  })

  test('two imports of one name at the same time: one succeeds', async () => {
    const body = { huggingface: 'acme/Small-GGUF', model_name: 'contested' }
    const answers = await Promise.all([1, 2, 3, 4].map(() => admin.post(path, body)))
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      201, 409, 409, 409,
    ])
  })

  test('a repository without runnable weights: 422 no_runnable_weights with the reason for each format', async () => {
    const answer = await admin.post(path, { huggingface: 'acme/Pickle' })
    expect(answer.status).toBe(422)
    expect(answer.body).toMatchObject({
      code: 'no_runnable_weights',
      reasons: [expect.stringMatching(/^Pickle: Pickle files can run code/)],
    })
  })

  test('token: stored encrypted, used for later imports of the organization only, and never shown', async () => {
    await importModel({ huggingface: 'acme/Licensed', model_name: 'licensed', token: hubToken })
    await importModel({ huggingface: 'acme/Private', model_name: 'private' })
    const foreign = await stranger.post(path, { huggingface: 'acme/Licensed' })
    expect(foreign.body.code).toBe('repository_gated')
    const rows = await server.application.db.selectFrom('hub_tokens').selectAll().execute()
    expect(rows).toHaveLength(1)
    expect(rows[0]!.token.includes(hubToken)).toBe(false)
    const shown = JSON.stringify([
      (await admin.get(path)).body,
      (await admin.get('/v1/organization/audit-log')).body,
    ])
    expect(shown).not.toContain(hubToken)
    expect(server.logs.join('\n')).not.toContain(hubToken)
  })

  test('only who manages models reads with the token of the organization', async () => {
    const inspect = (client: Client) => client.post(`${path}/inspect`, { huggingface: 'acme/Licensed' })
    expect((await inspect(admin)).status).toBe(200)
    expect((await inspect(member)).body.code).toBe('repository_gated')
  })

  test('the token of the operator never reads for an organization', () => {
    const tokens = hub.requests.map(({ headers }) => headers.authorization)
    expect(tokens).not.toContain('Bearer hf_of_the_operator')
  })

  test('the CDN gets no token, and every request another signature', () => {
    expect(hub.cdnRequests.length).toBeGreaterThan(0)
    expect(hub.cdnRequests.some(({ headers }) => headers.authorization !== undefined)).toBe(false)
  })
})

describe('an own model', () => {
  test('others get 404 and 422 on every route', async () => {
    const { id, model_name } = await importModel({ huggingface: 'acme/Small-GGUF', model_name: 'ours' })
    expect((await stranger.get(`${path}/${id}`)).status).toBe(404)
    expect((await stranger.patch(`${path}/${id}`, { enabled: false })).status).toBe(404)
    expect((await stranger.delete(`${path}/${id}`)).status).toBe(404)
    const names = (await stranger.get(`${path}?enabled_only=false`)).body.items.map(
      (model: { model_name: string }) => model.model_name,
    )
    expect(names).not.toContain(model_name)
    for (const name of [model_name, id]) {
      for (const url of ['/api/v1/model-deployments', '/api/v1/model-deployments/plan']) {
        const answer = await stranger.post(url, { model_name: name })
        expect(answer.status).toBe(422)
        expect(answer.body.code).toBe('model_not_deployable')
      }
    }
    const placements = (await stranger.get('/api/v1/placements')).body.items
    expect(placements.some((item: { model_id: string }) => item.model_id === id)).toBe(false)
    const own = (await member.get('/api/v1/placements')).body.items
    expect(own.some((item: { model_id: string }) => item.model_id === id)).toBe(true)
  })

  test('deploys at its commit, with the token of the organization', async () => {
    const { status, body } = await member.post('/api/v1/model-deployments', { model_name: 'licensed' })
    expect(status, JSON.stringify(body)).toBe(201)
    const { variant } = await server.application.db
      .selectFrom('deployments')
      .select('variant')
      .where('id', '=', body.id)
      .executeTakeFirstOrThrow()
    expect(variant).toMatchObject({
      weights: {
        kind: 'huggingface',
        repo: 'acme/Licensed',
        revision: commitOf('3'),
        files: ['Licensed-Q4_K_M.gguf'],
        access: 'organization',
      },
    })
  })

  test('PATCH: changes what it names, and only an own model: 403 catalog_model', async () => {
    const { id } = await importModel({ huggingface: 'acme/Small-GGUF', model_name: 'changing' })
    const changes = {
      display_name: 'Support',
      description: '',
      tags: ['chat'],
      enabled: false,
      sort_order: 7,
    }
    const changed = await admin.patch(`${path}/${id}`, changes)
    expect(changed.status).toBe(200)
    expect(changed.body).toMatchObject({ id, model_name: 'changing', ...changes })
    const { items } = (await admin.get('/v1/organization/audit-log')).body
    const { details } = items.find(({ action }: { action: string }) => action === 'model.updated')
    expect(details).toMatchObject({
      enabled: false,
      sortOrder: 7,
      before: { displayName: 'Small-GGUF', enabled: true, sortOrder: expect.any(Number) },
    })
    expect((await member.get(`${path}/${id}`)).status).toBe(404)
    const refused = await member.post('/api/v1/model-deployments', { model_name: 'changing' })
    expect(refused.body.code).toBe('model_not_deployable')
    const catalog = await admin.patch(`${path}/berth-tiny`, { enabled: false })
    expect(catalog.status).toBe(403)
    expect(catalog.body.code).toBe('catalog_model')
    expect((await admin.delete(`${path}/berth-tiny`)).body.code).toBe('catalog_model')
  })

  test('DELETE: 409 model_in_use with the ids while a deployment is active, then 204', async () => {
    const { id } = await importModel({ huggingface: 'acme/Small-GGUF', model_name: 'used' })
    const deployment = (await member.post('/api/v1/model-deployments', { model_name: 'used' })).body
    const refused = await admin.delete(`${path}/${id}`)
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({ code: 'model_in_use', deployment_ids: [deployment.id] })
    await server.application.db
      .updateTable('deployments')
      .set({ status: 'terminated', terminated_at: new Date(), reconcile_at: null })
      .where('id', '=', deployment.id)
      .execute()
    expect((await admin.delete(`${path}/${id}`)).status).toBe(204)
    expect((await admin.get(`${path}/${id}?enabled_only=false`)).status).toBe(404)
  })

  test('a restart with the catalog file keeps it', async () => {
    const { id } = await importModel({ huggingface: 'acme/Small-GGUF', model_name: 'kept' })
    const { db, config } = server.application
    for (const keepsChanges of [true, false]) {
      await replaceCatalog(db, readCatalogFile(config.catalogFile).models, { keepsChanges })
      expect((await member.get(`${path}/${id}`)).status).toBe(200)
    }
  })
})
