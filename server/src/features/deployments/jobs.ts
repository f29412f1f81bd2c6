import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { sweepOrphans } from './sweep-orphans.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Releases compute that no deployment owns */
    'sweep-orphans': null
  }
}

export function deploymentJobs(deps: Pick<Services, 'db' | 'runtime' | 'log'>): Job[] {
  return [{ name: 'sweep-orphans', cron: '* * * * *', run: () => sweepOrphans(deps) }]
}
