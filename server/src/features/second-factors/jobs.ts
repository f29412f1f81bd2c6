import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Deletes unfinished setups of second factors, and challenges without a signature */
    'delete-unfinished-second-factors': null
  }
}

const day = 24 * 3_600_000

export function secondFactorJobs({ db, clock }: Pick<Services, 'db' | 'clock'>): Job[] {
  return [
    {
      name: 'delete-unfinished-second-factors',
      cron: '17 * * * *',
      async run() {
        const now = clock()
        await db
          .deleteFrom('totp_factors')
          .where('verified_at', 'is', null)
          .where('created_at', '<', new Date(now.getTime() - day))
          .execute()
        await db.deleteFrom('passkey_challenges').where('expires_at', '<=', now).execute()
      },
    },
  ]
}
