import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { deleteExpiredSessions } from './store.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    'delete-expired-sessions': null
  }
}

export function sessionJobs({ db, clock }: Pick<Services, 'db' | 'clock'>): Job[] {
  return [
    {
      name: 'delete-expired-sessions',
      cron: '17 * * * *',
      run: () => deleteExpiredSessions(db, clock()),
    },
  ]
}
