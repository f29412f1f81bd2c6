import type { Deployment } from '../../contract.ts'
import { isEnding } from '../../domain/deployments/status.ts'
import { text } from '../../text/index.ts'
import { shortenId, nameVariant } from '../../domain/models/variant-names.ts'

/** Whether the deployment answers now or will once it runs. */
export const isUsable = (deployment: Deployment) => !isEnding(deployment) && deployment.status !== 'failed'

/** Unique names of deployments, by id; usable deployments with the same name get a shortened id. */
export function nameDeployments(deployments: readonly Deployment[]): ReadonlyMap<string, string> {
  const plainName = (deployment: Deployment) =>
    text.playground.deploymentName(deployment.model_name, nameVariant(deployment))
  const sharing = Map.groupBy(deployments.filter(isUsable), plainName)
  return new Map(
    deployments.map((one) => {
      const name = plainName(one)
      return [one.id, (sharing.get(name)?.length ?? 0) > 1 ? `${name} · ${shortenId(one.id)}` : name]
    }),
  )
}
