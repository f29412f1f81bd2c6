import type { Services } from '../../services.ts'
import type { Viewer } from '../../viewer.ts'
import { getOwnDeployment } from './get.ts'
import { moveDeployment } from './change-store.ts'
import type { Deployment } from './store.ts'

/** Begins a deployment's termination, whatever it is doing; one that is ending or has ended stays as it is. */
export async function terminateDeployment(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  viewer: Viewer,
  id: string,
): Promise<Deployment> {
  for (;;) {
    const deployment = await getOwnDeployment({ db }, viewer, id)
    const { status } = deployment
    if (status === 'terminating' || status === 'terminated') return deployment
    const moved = await moveDeployment(
      db,
      { id: deployment.id, from: status, to: 'terminating', at: clock() },
      { status_message: null, engine_url: null },
      { stage: 'termination', message: `Termination was asked for by ${viewer.name}.` },
    )
    if (moved !== undefined) return moved
  }
}
