import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DeliveredEvent } from '../../../payment-sandbox/test/support.ts'
import { startTestProcessor } from './stripe-support.ts'
import type { TestProcessor } from './stripe-support.ts'

let world: TestProcessor
let customerId: string
let sent: DeliveredEvent
beforeAll(async () => {
  world = await startTestProcessor()
  customerId = await world.payments.createCustomer({
    organizationId: 1,
    email: 'a@example.com',
    name: 'Acme',
  })
  await world.tick()
  sent = world.delivered[0]!
})
afterAll(() => world.close())

function read(body: string | Buffer, signature: string, now = world.now()) {
  return world.payments.readWebhook(Buffer.from(body), signature, now)
}

function sign(body: string, at: Date, scheme = 'v1', secret = world.sandbox.webhookSecret): string {
  const timestamp = Math.floor(at.getTime() / 1000)
  return `t=${timestamp},${scheme}=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`
}

function later(seconds: number): Date {
  return new Date(world.now().getTime() + seconds * 1000)
}

test('readWebhook: returns the delivered event', () => {
  expect(read(sent.body, sent.signature)).toEqual({
    id: expect.stringMatching(/^evt_/),
    type: 'customer.created',
    created: world.now(),
    customerId,
  })
})

test('the signature equals one computed by hand', () => {
  expect(sign(sent.body, world.now())).toBe(sent.signature)
})

test.each<[string, (body: string, signature: string) => [string | Buffer, string]]>([
  ['a changed body', (body, signature) => [body.replace('customer.created', 'customer.updated'), signature]],
  [
    'the same JSON with other spacing',
    (body, signature) => [JSON.stringify(JSON.parse(body), null, 1), signature],
  ],
  ['an appended byte', (body, signature) => [`${body} `, signature]],
  [
    'a changed digit of the signature',
    (body, signature) => [body, signature.slice(0, -1) + (signature.endsWith('0') ? '1' : '0')],
  ],
  [
    'a changed timestamp',
    (body, signature) => [body, signature.replace(/t=\d+/, (t) => `t=${Number(t.slice(2)) + 1}`)],
  ],
  ['a signature with another secret', (body) => [body, sign(body, world.now(), 'v1', 'whsec_other')]],
  ['only a v0 signature', (body) => [body, sign(body, world.now(), 'v0')]],
  ['no signature', (body) => [body, `t=${Math.floor(world.now().getTime() / 1000)}`]],
  ['no timestamp', (body, signature) => [body, signature.replace(/t=\d+,/, '')]],
  ['an empty header', (body) => [body, '']],
  ['a body that is not JSON', () => ['hello', sign('hello', world.now())]],
  ['JSON that is not an event', () => ['{"id":"x"}', sign('{"id":"x"}', world.now())]],
  ['an empty body', () => ['', sign('', world.now())]],
])('readWebhook: %s is refused', (_what, change) => {
  const [body, signature] = change(sent.body, sent.signature)
  expect(read(body, signature)).toBeNull()
})

test('readWebhook: a timestamp may differ by five minutes in either direction, not by a second more', () => {
  expect(read(sent.body, sent.signature, later(300))).not.toBeNull()
  expect(read(sent.body, sent.signature, later(301))).toBeNull()
  expect(read(sent.body, sent.signature, later(-300))).not.toBeNull()
  expect(read(sent.body, sent.signature, later(-301))).toBeNull()
  expect(read(sent.body, sent.signature, later(-86_400))).toBeNull()
})

test('readWebhook: one valid signature of two is enough, as during a rotation of secrets', () => {
  const wrong = 'a'.repeat(64)
  expect(read(sent.body, sent.signature.replace(',v1=', `,v1=${wrong},v1=`))).not.toBeNull()
  expect(read(sent.body, `${sent.signature},v1=${wrong}`)).not.toBeNull()
  expect(read(sent.body, `${sent.signature},v0=${wrong}`)).not.toBeNull()
})

test('readWebhook: a second timestamp in the header does not renew an old signature', () => {
  const old = sign(sent.body, later(-3600))
  const now = Math.floor(world.now().getTime() / 1000)
  expect(read(sent.body, `${old},t=${now}`)).toBeNull()
  expect(read(sent.body, `t=${now},${old}`)).toBeNull()
})
