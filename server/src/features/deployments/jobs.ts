import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { endTrials } from './changes/end-trials.ts'
import { deleteOldEngineLogs } from './state/engine-log.ts'
import { sweepOrphans } from './fleet/sweep-orphans.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Releases compute that no deployment owns */
    'sweep-orphans': null
    /** Ends the deployments of trials without credit */
    'end-trials': null
    /** Deletes the logs of deployments that ended long ago */
    'delete-old-engine-logs': null
  }
}

export function deploymentJobs(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'runtimes' | 'prices'>,
): Job[] {
  return [
    { name: 'sweep-orphans', cron: '* * * * *', run: () => sweepOrphans(deps) },
    { name: 'end-trials', cron: '*/5 * * * *', run: () => endTrials(deps) },
    { name: 'delete-old-engine-logs', cron: '41 3 * * *', run: () => deleteOldEngineLogs(deps) },
  ]
}
