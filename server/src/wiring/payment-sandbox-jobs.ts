import type { Application } from './application.ts'
import { receiveWebhook } from '../features/billing/processor/events.ts'
import type { Job } from '../jobs/queue.ts'

declare module '../jobs/queue.ts' {
  interface JobPayloads {
    'deliver-sandbox-webhook': { eventId: string }
    /** Runs the scheduled steps of the payment sandbox that are due, and retries deliveries */
    'advance-sandbox': null
  }
}

/** The payment sandbox's jobs. Without a sandbox they drain jobs queued before a switch to Stripe. */
export function paymentSandboxJobs(
  application: Pick<Application, 'db' | 'jobs' | 'clock' | 'log' | 'payments' | 'paymentSandbox'>,
): Job[] {
  const { paymentSandbox: sandbox } = application
  const webhook = (body: string, signature: string) =>
    receiveWebhook(application, Buffer.from(body), signature)

  return [
    {
      name: 'deliver-sandbox-webhook',
      concurrency: 10,
      run: async ({ eventId }) => sandbox?.deliver(eventId, webhook),
    },
    { name: 'advance-sandbox', cron: '* * * * *', run: async () => sandbox?.tick(webhook) },
  ]
}
