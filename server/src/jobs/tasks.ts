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
}

export type TaskName = keyof Tasks

export const taskNames: readonly TaskName[] = [
  'send-mail',
  'sweep-mails',
  'request-password-reset',
  'sweep-orphans',
  'forget-expired',
]

/** What runs by the clock: minute, hour, day of month, month, day of week, in UTC. */
export const schedule: readonly { task: TaskName; cron: string }[] = [
  { task: 'sweep-mails', cron: '* * * * *' },
  { task: 'sweep-orphans', cron: '* * * * *' },
  { task: 'forget-expired', cron: '17 * * * *' },
]
