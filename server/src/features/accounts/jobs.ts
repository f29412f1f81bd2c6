import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { serverActor } from '../../viewer.ts'
import type { Actor } from '../../viewer.ts'
import { deleteOldNetworks } from './known-networks.ts'
import { issuePasswordReset } from './password-reset.ts'
import { deleteExpired } from './store.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Emails a reset link to the account with this email, if there is one */
    'request-password-reset': { email: string; visitor?: Actor }
    /** Deletes expired sessions, password resets and rate limits */
    'delete-expired-sessions': null
  }
}

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'secretKey'>

export function accountJobs(deps: Deps): Job[] {
  const { db, clock } = deps
  return [
    {
      name: 'request-password-reset',
      concurrency: 20,
      run: ({ email, visitor = serverActor }) => issuePasswordReset(deps, visitor, email),
    },
    {
      name: 'delete-expired-sessions',
      cron: '17 * * * *',
      async run() {
        await deleteExpired(db, clock())
        await deleteOldNetworks(db, clock())
      },
    },
  ]
}
