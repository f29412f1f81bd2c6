import { createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient, registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/billing/webhook'

let server: TestServer
let caller: Client
beforeAll(async () => {
  server = await startTestServer({ worker: false })
  caller = createClient(server.url)
})
afterAll(() => server.close())

let count = 0
function makeEvent(customer: string | null = 'cus_unknown'): { id: string; body: string } {
  const id = `evt_test${++count}`
  const created = Math.floor(Date.now() / 1000)
  const object = { id: 'sub_x', object: 'subscription', customer }
  const type = 'customer.subscription.updated'
  // Whitespace and an escape that do not survive parsing and serializing.
  const body = JSON.stringify({ id, object: 'event', type, created, data: { object } }, null, 3)
  return { id, body: body.replace('evt_', '\\u0065vt_') }
}

/** Stripe's scheme: HMAC-SHA256 of `<timestamp>.<body>`. */
function sign(
  body: string,
  at = Date.now(),
  secret = server.application.paymentSandbox!.webhookSecret,
): string {
  const timestamp = Math.floor(at / 1000)
  const mac = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
  return `t=${timestamp},v1=${mac}`
}

const post = (body: string | Uint8Array, signature?: string, headers: Record<string, string> = {}) =>
  caller.request('POST', path, body, {
    ...(signature === undefined ? {} : { 'stripe-signature': signature }),
    ...headers,
  })

const findEvent = (id: string) =>
  server.application.db.selectFrom('billing_events').selectAll().where('id', '=', id).executeTakeFirst()

async function countJobs(eventId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM pgboss.job
    WHERE name = 'apply-billing-event' AND data->>'eventId' = ${eventId}`.execute(server.application.db)
  return rows[0]!.count
}

test('POST /v1/billing/webhook: 200 {received: true} once the event is stored, with a job', async () => {
  const { id, body } = makeEvent()
  const answer = await post(body, sign(body))
  expect(answer).toMatchObject({ status: 200, body: { received: true } })
  expect(Object.keys(answer.body)).toEqual(['received'])
  expect(await findEvent(id)).toMatchObject({
    type: 'customer.subscription.updated',
    customer_id: 'cus_unknown',
    handled_at: null,
  })
  expect(await countJobs(id)).toBe(1)
})

test('an event id seen before is 200 and does nothing, even twenty times at once', async () => {
  const { id, body } = makeEvent()
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(body, sign(body))))
  answers.push(await post(body, sign(body)))
  for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: { received: true } })
  expect(await countJobs(id)).toBe(1)
})

describe('400 invalid_signature', () => {
  async function expectRefused(body: string | Uint8Array, signature: string | undefined) {
    const answer = await post(body, signature)
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_signature', status: 400 } })
    expect(answer.headers.get('content-type')).toContain('application/json')
  }

  test('a missing, empty or malformed signature, or one of another scheme', async () => {
    const { id, body } = makeEvent()
    const right = sign(body)
    for (const signature of [
      undefined,
      '',
      'v1=abc',
      right.replace('v1=', 'v0='),
      't=,v1=',
      right.slice(0, -1),
    ]) {
      await expectRefused(body, signature)
    }
    expect(await findEvent(id)).toBeUndefined()
  })

  test('another secret', async () => {
    const { body } = makeEvent()
    await expectRefused(body, sign(body, Date.now(), 'whsec_other'))
  })

  test('a modified or reserialized body', async () => {
    const { body } = makeEvent()
    const signature = sign(body)
    await expectRefused(body.replace('cus_unknown', 'cus_another'), signature)
    await expectRefused(JSON.stringify(JSON.parse(body)), signature)
    await expectRefused(`${body} `, signature)
  })

  test('a timestamp more than 5 minutes in the past or future', async () => {
    const { body } = makeEvent()
    for (const minutes of [-6, 6, -60 * 24, 60 * 24]) {
      await expectRefused(body, sign(body, Date.now() + minutes * 60_000))
    }
  })

  test('an empty body, binary data, JSON that is not an event', async () => {
    for (const body of ['', 'null', '[]', '{}', '{"id":1}', 'hello']) await expectRefused(body, sign(body))
    await expectRefused(Buffer.from([0, 255, 254]), 't=1,v1=00')
  })
})

test('a timestamp 4 minutes in the past or future is accepted', async () => {
  for (const minutes of [-4, 4]) {
    const { body } = makeEvent()
    expect((await post(body, sign(body, Date.now() + minutes * 60_000))).status).toBe(200)
  }
})

test('one valid signature of two is enough, so that secrets can be rotated', async () => {
  const { body } = makeEvent()
  const other = sign(body, Date.now(), 'whsec_other').split(',')[1]
  expect((await post(body, `${sign(body)},${other}`)).status).toBe(200)
})

test('needs no session and is exempt from CSRF checks, with any content type', async () => {
  for (const headers of [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'content-type': 'application/json; charset=utf-8' },
    { 'content-type': 'text/plain' },
  ]) {
    const { body } = makeEvent()
    expect((await post(body, sign(body), headers)).status).toBe(200)
  }
})

test('a compressed body is read within the limit, and its signature covers the plain one', async () => {
  const { id, body } = makeEvent()
  const gzip = { 'content-encoding': 'gzip' }
  expect((await post(gzipSync(body), sign(body), gzip)).status).toBe(200)
  expect(await findEvent(id)).toBeDefined()
  const bomb = gzipSync(Buffer.alloc(2 ** 25))
  expect(await post(bomb, sign('x'), gzip)).toMatchObject({ status: 413, body: { code: 'body_too_large' } })
  const other = await post(body, sign(body), { 'content-encoding': 'compress' })
  expect(other).toMatchObject({ status: 415, body: { code: 'unsupported_encoding' } })
  expect(other.headers.get('accept-encoding')).toContain('gzip')
})

test('other billing routes still reject cross-site requests', async () => {
  const client = await registerClient(server.url)
  const answer = await client.request(
    'POST',
    '/v1/billing/portal/session',
    {},
    { 'sec-fetch-site': 'cross-site' },
  )
  expect(answer).toMatchObject({ status: 403, body: { code: 'csrf_rejected' } })
})

test('a body over 1 MiB is a 413, another method a 405', async () => {
  expect((await post(Buffer.alloc(1024 * 1024 + 1), 't=1,v1=00')).status).toBe(413)
  const answer = await caller.get(path)
  expect(answer.status).toBe(405)
  expect(answer.headers.get('allow')).toContain('POST')
})
