import { deleteOlder } from '../../database/delete-older.ts'
import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { retentionMilliseconds } from './keys.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Deletes idempotency keys that are older than 24 hours */
    'delete-old-idempotency-keys': null
  }
}

export function idempotencyJobs({ db, clock }: Pick<Services, 'db' | 'clock'>): Job[] {
  return [
    {
      name: 'delete-old-idempotency-keys',
      cron: '41 * * * *',
      run: () =>
        deleteOlder(
          db,
          'idempotency_keys',
          'created_at',
          new Date(clock().getTime() - retentionMilliseconds),
        ),
    },
  ]
}
