import { startTestSandbox } from '../../../payment-sandbox/test/support.ts'
import type { TestSandbox } from '../../../payment-sandbox/test/support.ts'
import { createStripeProcessor } from '../../src/adapters/payment-processor/stripe/processor.ts'
import type { StripeOptions } from '../../src/adapters/payment-processor/stripe/processor.ts'
import type { MeteredPrice, PaymentProcessor } from '../../src/ports/payment-processor.ts'

export const returnUrl = 'http://localhost:8080/billing?session={CHECKOUT_SESSION_ID}'

export const prices: MeteredPrice[] = [
  {
    key: 'gpu_instance_seconds.local-cpu.local',
    displayName: 'Local CPU, seconds',
    unitAmountDecimal: '0.00001',
    currency: 'usd',
  },
  {
    key: 'gpu_instance_seconds.h100.eu-1',
    displayName: 'H100, seconds',
    unitAmountDecimal: '0.00123456789',
    currency: 'usd',
  },
]

/** The sandbox in place of Stripe, and the adapter as installation `test`. */
export interface TestProcessor extends TestSandbox {
  payments: PaymentProcessor
}

export async function startTestProcessor(): Promise<TestProcessor> {
  const world = await startTestSandbox()
  return { ...world, payments: connect(world) }
}

/** The adapter connected to the sandbox. */
export function connect({ sandbox }: TestSandbox, options: Partial<StripeOptions> = {}): PaymentProcessor {
  return createStripeProcessor({
    name: 'stripe',
    secretKey: sandbox.apiKey,
    publishableKey: 'pk_test_x',
    webhookSecret: sandbox.webhookSecret,
    installation: 'test',
    transport: sandbox.fetch,
    ...options,
  })
}

/** Subscribes a customer to all prices. */
export async function subscribe(
  world: TestProcessor,
  { customerId, cardId }: { customerId: string; cardId: string },
  idempotencyKey = `subscribe-${customerId}`,
) {
  const result = await world.payments.createSubscription({
    customerId,
    organizationId: 1,
    cardId,
    anchor: world.now(),
    idempotencyKey,
  })
  if (result.outcome === 'failed') throw result.error
  if (result.outcome !== 'created') throw new Error(`the card was refused: ${result.message}`)
  return result.subscription
}
