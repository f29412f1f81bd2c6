import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { deleteExpiredActions } from './store.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Deletes rows of the audit log that are older than AUDIT_RETENTION */
    'delete-expired-actions': null
  }
}

export function auditJobs({ db, clock, config }: Pick<Services, 'db' | 'clock' | 'config'>): Job[] {
  return [
    {
      name: 'delete-expired-actions',
      cron: '47 3 * * *',
      run: () => deleteExpiredActions(db, new Date(clock().getTime() - config.auditRetentionMilliseconds)),
    },
  ]
}
