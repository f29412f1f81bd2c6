import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { resumeActivation } from './processor/activate.ts'
import { cancelClosedSubscriptions } from './processor/cancel-closed-subscriptions.ts'
import { compareInvoices } from './reports/compare-invoices.ts'
import { applyBillingEvent } from './processor/events.ts'
import { publishSandboxPrices } from './processor/publish-prices.ts'
import { reportUsage } from './reports/report-usage.ts'
import { sweepBillingEvents } from './processor/sweep-events.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Brings an account up to date with the processor after one of its events */
    'apply-billing-event': { eventId: string }
    /** Resumes an activation whose process may have died */
    'resume-activation': { activationId: string }
    /** Fetches events that never arrived from the processor and requeues unhandled ones */
    'sweep-billing-events': null
    /** Reports sealed usage, compares invoices with the ledger, cancels subscriptions of closed accounts */
    'report-usage': null
  }
}

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'payments' | 'runtimes' | 'prices'>

export function billingJobs(deps: Deps): Job[] {
  return [
    {
      name: 'apply-billing-event',
      concurrency: 5,
      run: ({ eventId }) => applyBillingEvent(deps, eventId),
    },
    {
      name: 'resume-activation',
      concurrency: 5,
      run: ({ activationId }) => resumeActivation(deps, activationId),
    },
    {
      name: 'sweep-billing-events',
      cron: '23 * * * *',
      async run() {
        await sweepBillingEvents(deps)
        await publishSandboxPrices(deps)
      },
    },
    // Soon after an hour is sealed: an invoice accepts late usage for one hour only.
    {
      name: 'report-usage',
      cron: '*/10 * * * *',
      async run() {
        // What isn't sent stays unsent, and is billed if billing is on again.
        if (deps.config.billing.isOn) {
          await reportUsage(deps)
          await compareInvoices(deps)
        }
        await cancelClosedSubscriptions(deps)
      },
    },
  ]
}
