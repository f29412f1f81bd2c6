import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { deleteExpiredFlows } from './store.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Deletes SSO sign-ins that were not finished in time */
    'delete-expired-sso-flows': null
  }
}

export function ssoJobs({ db, clock }: Pick<Services, 'db' | 'clock'>): Job[] {
  return [
    { name: 'delete-expired-sso-flows', cron: '17 * * * *', run: () => deleteExpiredFlows(db, clock()) },
  ]
}
