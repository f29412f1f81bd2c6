import type { Application } from './application.ts'
import { findClockLead } from '../database/clock-lead.ts'
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
  const { db, log, paymentSandbox: sandbox } = application
  const webhook = (body: string, signature: string) =>
    receiveWebhook(application, Buffer.from(body), signature)

  /** Settlement stops while the clock is ahead, so an invoice that is finalized then would lack usage. */
  async function advance(): Promise<void> {
    if (sandbox === null) return
    const ahead = await findClockLead(db)
    if (ahead === null) return sandbox.tick(webhook)
    log.error(
      { aheadMilliseconds: ahead },
      "the payment sandbox was not advanced because this machine's clock is ahead of the database's: check its time synchronization",
    )
  }

  return [
    {
      name: 'deliver-sandbox-webhook',
      concurrency: 10,
      run: async ({ eventId }) => sandbox?.deliver(eventId, webhook),
    },
    { name: 'advance-sandbox', cron: '* * * * *', run: advance },
  ]
}
