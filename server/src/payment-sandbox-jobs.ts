import type { PaymentSandbox } from './adapters/payment-processor/sandbox/sandbox.ts'
import type { Job } from './jobs/queue.ts'

declare module './jobs/queue.ts' {
  interface JobPayloads {
    /** Posts an event of the payment sandbox to the webhook */
    'deliver-sandbox-webhook': { eventId: string }
    /** Does what is due by the payment sandbox's clock */
    'advance-sandbox': null
  }
}

interface SandboxDelivery {
  sandbox: PaymentSandbox
  /** Posts an event to the webhook and returns its HTTP status */
  post: (body: string, signature: string) => Promise<number>
}

/** The payment sandbox's jobs. With `null` they drain jobs left in the queue after a switch to Stripe. */
export function paymentSandboxJobs(delivery: SandboxDelivery | null): Job[] {
  return [
    {
      name: 'deliver-sandbox-webhook',
      concurrency: 10,
      run: async ({ eventId }) => delivery?.sandbox.deliverEvent(eventId, delivery.post),
    },
    { name: 'advance-sandbox', cron: '* * * * *', run: async () => delivery?.sandbox.tick(delivery.post) },
  ]
}
