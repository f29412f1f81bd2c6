import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { deleteOldResets } from './password-reset-store.ts'
import { issuePasswordReset } from './password-reset.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Emails a reset link to the account with this email, if there is one */
    'request-password-reset': { email: string; visitor: Actor }
    'delete-old-password-resets': null
  }
}

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'secretKey'>

export function signInJobs(deps: Deps): Job[] {
  return [
    {
      name: 'request-password-reset',
      concurrency: 20,
      run: ({ email, visitor }) => issuePasswordReset(deps, visitor, email),
    },
    {
      name: 'delete-old-password-resets',
      cron: '17 * * * *',
      run: () => deleteOldResets(deps.db, deps.clock()),
    },
  ]
}
