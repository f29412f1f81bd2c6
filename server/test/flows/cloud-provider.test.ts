// A cloud provider with OpenAI's API passes the tests of real servers, and two of its own.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { playEndpoint } from '../endpoints/play-endpoint.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { accountHeaders, startCloudProvider, thinkingModel } from '../support/cloud-provider.ts'
import type { CloudProvider } from '../support/cloud-provider.ts'
import { waitForStatus } from '../support/deployments.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const messages = [{ role: 'user', content: 'What is 27 + 15?' }]

let provider: CloudProvider
let server: TestServer
let admin: Client
beforeAll(async () => {
  provider = await startCloudProvider()
  server = await startTestServer({ settings: { RUNTIME: 'endpoints', ENDPOINT_NETWORKS: '127.0.0.0/8' } })
  admin = await registerClient(server.url)
  const { url, key } = provider.chat
  const endpoint = await admin.post('/api/v1/endpoints', { name: 'Cloud', base_url: `${url}/v1`, key })
  expect(endpoint.body).toMatchObject({ status: 'ready' })
})
afterAll(async () => {
  await server?.close()
  await provider?.close()
})

async function deploy(model: string) {
  const { id } = (await admin.post('/api/v1/model-deployments', { model_name: model })).body
  await waitForStatus(admin, id, 'running')
  return (more: object) => admin.post('/v1/chat/completions', { model: id, messages, ...more })
}

test('what the provider refuses of a request reaches the caller in its words', async () => {
  const chat = await deploy('gpt-tiny')
  expect((await chat({ top_k: 3 })).body.error.message).toBe('Unrecognized request argument supplied: top_k')
  const think = await deploy(thinkingModel)
  const refused = { status: 400, body: { error: { code: 'unsupported_parameter', param: 'max_tokens' } } }
  expect(await think({ max_tokens: 4 })).toMatchObject(refused)
  expect((await think({ max_completion_tokens: 4 })).status).toBe(200)
})

test('a caller learns when the provider accepts requests again, and nothing about its account', async () => {
  const chat = await deploy('gpt-tiny')
  for (const isLimited of [false, true]) {
    provider.limit(isLimited)
    const { status, headers } = await chat({ max_tokens: 4 })
    expect([status, headers.get('retry-after')]).toEqual(isLimited ? [429, '7'] : [200, null])
    expect(Object.keys(accountHeaders).filter((name) => headers.has(name))).toEqual([])
  }
  provider.limit(false)
})

playEndpoint('a cloud provider', startCloudProvider)
