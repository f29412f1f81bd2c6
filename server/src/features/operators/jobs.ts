import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { endSuspendedDeployments } from './suspend.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Ends the deployments of an organization if the suspension of that moment, in ISO 8601, still lasts */
    'end-suspended-deployments': { organizationId: number; suspendedAt: string }
  }
}

export function operatorJobs(deps: Pick<Services, 'db' | 'clock'>): Job[] {
  return [
    {
      name: 'end-suspended-deployments',
      run: ({ organizationId, suspendedAt }) =>
        endSuspendedDeployments(deps, organizationId, new Date(suspendedAt)),
    },
  ]
}
