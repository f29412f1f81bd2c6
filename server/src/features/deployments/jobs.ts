import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import type { Price } from '../metering/prices.ts'
import { endTrials } from './end-trials.ts'
import { sweepOrphans } from './sweep-orphans.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Releases compute that no deployment owns */
    'sweep-orphans': null
    /** Ends the deployments of trials without credit */
    'end-trials': null
  }
}

export function deploymentJobs(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'runtime'> & { prices: readonly Price[] },
): Job[] {
  return [
    { name: 'sweep-orphans', cron: '* * * * *', run: () => sweepOrphans(deps) },
    { name: 'end-trials', cron: '*/5 * * * *', run: () => endTrials(deps) },
  ]
}
