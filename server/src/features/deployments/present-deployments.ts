import type { z } from 'zod'
import type { Services } from '../../services.ts'
import { listShownInstances } from './state/instance-store.ts'
import { readLoads } from './serving/instance-loads.ts'
import { toDeploymentBody } from './schemas.ts'
import type { deploymentBody } from './schemas.ts'
import { findOwners } from './state/store.ts'
import type { DeploymentSummary } from './state/store.ts'

type Deps = Pick<Services, 'db' | 'runtimes'>
type DeploymentBody = z.infer<typeof deploymentBody>

/** The API's objects of these deployments, with their owners and instances. */
export async function presentDeployments(
  { db, runtimes }: Deps,
  deployments: readonly DeploymentSummary[],
): Promise<DeploymentBody[]> {
  const [owners, instances] = await Promise.all([
    findOwners(db, [...new Set(deployments.map(({ user_id }) => user_id))]),
    listShownInstances(
      db,
      deployments.map(({ id }) => id),
    ),
  ])
  const serving = [...instances.values()]
    .flat()
    .filter(({ status }) => status === 'running' || status === 'draining')
  const loads = await readLoads(
    db,
    serving.map(({ id }) => id),
  )
  return deployments.map((deployment) =>
    toDeploymentBody(
      deployment,
      owners.get(deployment.user_id)!,
      instances.get(deployment.id) ?? [],
      loads,
      runtimes,
    ),
  )
}

export async function presentDeployment(deps: Deps, deployment: DeploymentSummary): Promise<DeploymentBody> {
  const [body] = await presentDeployments(deps, [deployment])
  return body!
}
