import type { Services } from '../../services.ts'
import type { Viewer } from '../../viewer.ts'
import { recordAction } from '../audit/record-action.ts'
import { transitionDeployment } from './change-store.ts'
import { getOwnDeployment } from './get.ts'
import type { Deployment } from './store.ts'

/** Starts terminating a deployment from any status. Does nothing if it is already terminating or terminated. */
export async function terminateDeployment(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  id: string,
): Promise<Deployment> {
  for (;;) {
    const deployment = await getOwnDeployment({ db }, viewer, id)
    const { status } = deployment
    if (status === 'terminating' || status === 'terminated') return deployment
    const moved = await transitionDeployment(
      db,
      { id: deployment.id, from: status, to: 'terminating', at: clock() },
      { status_message: null, engine_url: null },
      { stage: 'termination', message: `Termination requested by ${viewer.name}.` },
      async (transaction, { model_name: name, organization_id: organizationId }) => {
        const target = { type: 'deployment', id, name } as const
        await recordAction(transaction, viewer, 'deployment.terminated', { target, organizationId })
      },
    )
    if (moved !== undefined) return moved
  }
}
