import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { deleteOldNetworks } from './known-networks.ts'
import { deleteExpiredAttempts } from './rate-limits.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Deletes expired counters of attempts, and networks that were not used for a long time */
    'delete-expired-attempts': null
  }
}

export function accountJobs({ db, clock }: Pick<Services, 'db' | 'clock'>): Job[] {
  return [
    {
      name: 'delete-expired-attempts',
      cron: '17 * * * *',
      async run() {
        await deleteExpiredAttempts(db, clock())
        await deleteOldNetworks(db, clock())
      },
    },
  ]
}
