import type { Services } from '../../services.ts'
import { serverActor } from '../../viewer.ts'
import { listEndedTrials } from '../billing/exhausted-trials.ts'
import type { Price } from '../metering/prices.ts'
import { terminateDeployments } from './hand-over.ts'

/** Terminates the deployments of trials whose credit has been used up for longer than the grace period. */
export async function endTrials(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log'> & { prices: readonly Price[] },
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
