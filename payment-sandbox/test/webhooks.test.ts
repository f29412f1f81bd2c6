import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { day, startTestSandbox } from './support.ts'
import type { TestSandbox } from './support.ts'

let world: TestSandbox
let customerId: string
beforeAll(async () => {
  world = await startTestSandbox()
  customerId = await world.createCustomer()
  await world.tick()
})
afterAll(() => world.close())
beforeEach(() => {
  world.delivered.length = 0
  world.acceptEvents(true)
})

/** Creates one event and returns its row. */
async function createEvent() {
  await world.stripe.customers.update(customerId, { name: 'Another name' })
  return world.db
    .selectFrom('events')
    .select('id')
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
}

async function isPending(id: string): Promise<boolean> {
  const event = await world.db
    .selectFrom('events')
    .select('due_at')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return event.due_at !== null
}

test('an event is delivered with the signature of Stripe’s scheme', async () => {
  const { id } = await createEvent()
  await world.tick()
  const [event] = world.delivered
  expect(JSON.parse(event!.body)).toMatchObject({
    id,
    object: 'event',
    type: 'customer.updated',
    data: { object: { id: customerId, name: 'Another name' } },
  })
  const timestamp = Math.floor(world.now().getTime() / 1000)
  const mac = createHmac('sha256', world.sandbox.webhookSecret).update(`${timestamp}.${event!.body}`)
  expect(event!.signature).toBe(`t=${timestamp},v1=${mac.digest('hex')}`)
})

test('an event that the webhook rejects is retried with growing delays for three days', async () => {
  world.acceptEvents(false)
  const { id } = await createEvent()
  const halfDay = 43_200
  const waits = [10, 60, 300, 1800, 7200, 21_600, halfDay, halfDay, halfDay, halfDay, halfDay]
  await world.tick()
  for (const [index, wait] of waits.entries()) {
    expect(await isPending(id)).toBe(true)
    world.advance(wait * 1000 - 1)
    await world.tick()
    expect(world.delivered).toHaveLength(index + 1)
    world.advance(1)
    await world.tick()
    expect(world.delivered).toHaveLength(index + 2)
  }
  // 68 hours have passed: the next attempt would be later than three days.
  expect(await isPending(id)).toBe(false)
  world.advance(day)
  await world.tick()
  expect(world.delivered).toHaveLength(waits.length + 1)
  expect(new Set(world.delivered.map(({ body }) => JSON.parse(body).id))).toEqual(new Set([id]))
})

test('an event whose first delivery fails is delivered by a later attempt, and never again', async () => {
  world.acceptEvents(false)
  const { id } = await createEvent()
  await world.tick()
  expect(await isPending(id)).toBe(true)
  world.acceptEvents(true)
  world.advance(10_000)
  await Promise.all([world.tick(), world.tick()])
  world.advance(day)
  await world.tick()
  expect(world.delivered).toHaveLength(2)
  expect(await isPending(id)).toBe(false)
})

test('GET /v1/events: events since a time, newest first', async () => {
  world.advance(60_000)
  const since = Math.floor(world.now().getTime() / 1000)
  const id = await world.createCustomer()
  world.advance(1000)
  await world.stripe.paymentMethods.attach('pm_card_visa', { customer: id })
  const { data } = await world.stripe.events.list({ created: { gte: since }, limit: 2 })
  expect(data.map(({ type }) => type)).toEqual(['payment_method.attached', 'customer.updated'])
})
