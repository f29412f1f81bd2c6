/** Every kind of job, with what it carries. */
export interface Tasks {
  /** Sends one mail of the outbox */
  'send-mail': { mailId: number }
  /** Enqueues the mails that no job stands for */
  'sweep-mails': null
  /** Sends a reset link to the account of an address, if there is one */
  'request-password-reset': { email: string }
  /** Gives back compute that no deployment owns */
  'sweep-orphans': null
  /** Deletes expired sessions and counters */
  'forget-expired': null
  /** Writes the hours of the ledger and seals those that are over */
  'settle-usage': null
  /** Looks for what is wrong with usage now */
  'check-usage': null
  /** Looks through the ledger for what should not be there */
  'check-ledger': null
  /** Brings an account in line with what the processor has after one of its events */
  'apply-billing-event': { eventId: string }
  /** Carries on with an activation whose process may have died */
  'resume-activation': { activationId: string }
  /** Asks the processor for events that never arrived, and looks after those that lie unhandled */
  'sweep-billing-events': null
  /** Tells the processor of the usage of sealed hours */
  'send-usage': null
  /** Posts an event of the payment sandbox to the webhook */
  'deliver-sandbox-webhook': { eventId: string }
  /** Lets the payment sandbox do what its clock has brought */
  'advance-sandbox': null
}

export type TaskName = keyof Tasks

export const taskNames: readonly TaskName[] = [
  'send-mail',
  'sweep-mails',
  'request-password-reset',
  'sweep-orphans',
  'forget-expired',
  'settle-usage',
  'check-usage',
  'check-ledger',
  'apply-billing-event',
  'resume-activation',
  'sweep-billing-events',
  'send-usage',
  'deliver-sandbox-webhook',
  'advance-sandbox',
]

/** What runs by the clock: minute, hour, day of month, month, day of week, in UTC. */
export const schedule: readonly { task: TaskName; cron: string }[] = [
  { task: 'sweep-mails', cron: '* * * * *' },
  { task: 'sweep-orphans', cron: '* * * * *' },
  { task: 'forget-expired', cron: '17 * * * *' },
  { task: 'settle-usage', cron: '* * * * *' },
  { task: 'check-usage', cron: '*/5 * * * *' },
  // Hours are sealed a quarter of an hour after their end.
  { task: 'check-ledger', cron: '37 * * * *' },
  { task: 'sweep-billing-events', cron: '23 * * * *' },
  { task: 'advance-sandbox', cron: '* * * * *' },
  // An invoice is open for late usage for an hour only, so an hour is told of soon after it is sealed.
  { task: 'send-usage', cron: '*/10 * * * *' },
]
