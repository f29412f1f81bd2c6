import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { pruneStatistics } from './store.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Deletes statistics that are too old to be shown */
    'delete-old-statistics': null
  }
}

export function statisticsJobs({ db, clock, config }: Pick<Services, 'db' | 'clock' | 'config'>): Job[] {
  return [
    {
      name: 'delete-old-statistics',
      cron: '17 * * * *',
      run: () => pruneStatistics(db, clock(), config.statisticsRetentionMilliseconds),
    },
  ]
}
