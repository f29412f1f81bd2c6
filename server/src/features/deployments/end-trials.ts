import type { Services } from '../../services.ts'
import { serverActor } from '../../viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { listEndedTrials } from '../billing/exhausted-trials.ts'
import type { Price } from '../metering/prices.ts'
import { transitionDeployment } from './change-store.ts'
import { listActiveDeploymentsOf } from './store.ts'

/** Terminates the deployments of trials whose credit has been used up for longer than the grace period. */
export async function endTrials(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log'> & { prices: readonly Price[] },
): Promise<void> {
  const message = 'The trial’s credit is used up. Activate billing, then deploy again.'
  for (const organizationId of await listEndedTrials(deps)) {
    for (const { id, status, model_name: name } of await listActiveDeploymentsOf(deps.db, organizationId)) {
      await transitionDeployment(
        deps.db,
        { id, from: status, to: 'terminating', at: deps.clock() },
        { status_message: null, engine_url: null },
        { stage: 'termination', message },
        async (transaction) => {
          const actor = { ...serverActor, organizationId }
          const target = { type: 'deployment', id, name } as const
          await recordAction(transaction, actor, 'deployment.terminated', {
            target,
            details: { reason: 'trial_credit_exhausted' },
          })
        },
      )
    }
  }
}
