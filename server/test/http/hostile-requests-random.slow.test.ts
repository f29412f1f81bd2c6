import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, registerClient } from '../support/client.ts'
import { listOperations } from '../support/operations.ts'
import type { Operation } from '../support/operations.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
let operations: Operation[]
beforeAll(async () => {
  server = await startTestServer({ worker: false })
  const document = (await createClient(server.url).get('/openapi.json')).body
  operations = listOperations(document).filter(({ bodyFields }) => bodyFields !== null)
})
afterAll(() => server.close())

/** Random JSON, and objects with the operation's own fields. Half of the values are strings of all kinds. */
function bodiesOf(fields: string[]): fc.Arbitrary<unknown> {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'binary', minLength: 8, maxLength: 40 }),
  )
  const email = fc.tuple(text, text).map(([left, right]) => `${left}@${right}`)
  const value = fc.oneof(text, email, fc.jsonValue({ maxDepth: 4 }))
  const ownFields = fc.record(Object.fromEntries(fields.map((field) => [field, value])), { requiredKeys: [] })
  return fc.oneof({ weight: 3, arbitrary: ownFields }, { weight: 1, arbitrary: fc.jsonValue() })
}

test('no operation returns a server error for random JSON bodies', async () => {
  expect(operations.length).toBeGreaterThan(4)
  const client = await registerClient(server.url)
  for (const { method, path, bodyFields, isPublic } of operations) {
    const address = path.replaceAll(/\{[^}]+\}/g, '1')
    await fc.assert(
      fc.asyncProperty(bodiesOf(bodyFields ?? []), async (body) => {
        // A successful registration would end the session of the request.
        const caller = isPublic ? createClient(server.url) : client
        const headers = { 'content-type': 'application/json' }
        const answer = await caller.request(method, address, JSON.stringify(body), headers)
        expect(answer.status, `${method} ${path}`).toBeGreaterThanOrEqual(200)
        expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(500)
      }),
      { numRuns: 60 },
    )
  }
}, 180_000)
