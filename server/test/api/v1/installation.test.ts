import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../../support/client.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ worker: false })
})
afterAll(() => server.close())

test('GET /v1/installation: tells whether the first account exists, and not how many do', async () => {
  const read = async () => (await createClient(server.url).get('/v1/installation')).body
  expect(await read()).toMatchObject({ accounts_exist: false })
  await registerClient(server.url)
  const one = await read()
  expect(one).toMatchObject({ accounts_exist: true })
  await registerClient(server.url)
  expect(await read()).toEqual(one)
})
