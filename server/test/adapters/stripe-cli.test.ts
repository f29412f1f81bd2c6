import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestSandbox } from './payment-sandbox-support.ts'
import type { TestSandbox } from './payment-sandbox-support.ts'
import { stripeCommand } from './stripe-request-schemas.ts'

let world: TestSandbox
let home: string
beforeAll(async () => {
  world = await startTestSandbox()
  home = await mkdtemp(join(tmpdir(), 'stripe-cli-'))
})
afterAll(async () => {
  await world.close()
  await rm(home, { recursive: true, force: true })
})

/** Runs the Stripe CLI against the sandbox. */
function runStripe(...args: string[]) {
  const options = {
    env: { PATH: process.env.PATH ?? '', HOME: home, STRIPE_CLI_TELEMETRY_OPTOUT: '1' },
    timeout: 30_000,
  }
  const connection = ['--api-base', world.url, '--api-key', world.sandbox.apiKey]
  return promisify(execFile)(process.execPath, [stripeCommand(), ...args, ...connection], options)
}

test.each([
  'customer.created',
  'customer.updated',
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'payment_method.attached',
  'payment_method.detached',
  'setup_intent.created',
  'setup_intent.succeeded',
  'setup_intent.setup_failed',
  'invoice.created',
  'invoice.updated',
  'invoice.finalized',
  'invoice.paid',
  'invoice.payment_succeeded',
  'invoice.payment_failed',
  'product.created',
  'price.created',
])('stripe trigger %s: the event is delivered, signed', async (type) => {
  world.posted.length = 0
  const { stdout } = await runStripe('trigger', type)
  expect(stdout).toContain('Trigger succeeded')
  await world.tick()
  const events = world.posted.map(({ body, signature }) =>
    world.payments.readWebhook(Buffer.from(body), signature, world.now()),
  )
  expect(events.map((event) => event?.type)).toContain(type)
})
