import { deleteOlder } from '../../database/delete-older.ts'
import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { deliverAlert } from './deliver-alert.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Delivers one alert to a webhook */
    'deliver-alert': { messageId: string }
    /** Deletes alerts that are older than 30 days */
    'delete-old-alerts': null
  }
}

const retentionMilliseconds = 30 * 24 * 3_600_000

export function alertJobs(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'secretKey'>,
): Job[] {
  const { db, clock } = deps
  return [
    { name: 'deliver-alert', concurrency: 10, run: ({ messageId }) => deliverAlert(deps, messageId) },
    {
      name: 'delete-old-alerts',
      cron: '23 3 * * *',
      run: () =>
        deleteOlder(
          db,
          'webhook_messages',
          'created_at',
          new Date(clock().getTime() - retentionMilliseconds),
        ),
    },
  ]
}
