import type { Services } from '../../../services.ts'
import { serverActor } from '../../../base/viewer.ts'
import { listEndedTrials } from '../../billing/limits/exhausted-trials.ts'
import { terminateDeployments } from './member-deployments.ts'

/** Terminates the deployments of trials whose credit has been used up for longer than the grace period. */
export async function endTrials(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'prices'>,
): Promise<void> {
  const reason = 'The trial’s credit is used up. Activate billing, then deploy again.'
  for (const organizationId of await listEndedTrials(deps)) {
    const actor = { ...serverActor, organizationId }
    await deps.db
      .transaction()
      .execute((transaction) =>
        terminateDeployments(transaction, actor, { organizationId }, { reason, at: deps.clock() }),
      )
  }
}
