import type { Deployment } from '../../contract.ts'
import { isEnding } from '../../domain/deployments/status.ts'
import { text } from '../../text/index.ts'
import { shortenId, nameVariant } from '../../domain/models/variant-names.ts'

/** Whether the deployment answers now or will once it runs. */
export const isUsable = (deployment: Deployment) => !isEnding(deployment) && deployment.status !== 'failed'

/** Unique names of deployments, by id: those of others name their owner; usable ones with the same name get a shortened id. */
export function nameDeployments(
  deployments: readonly Deployment[],
  userId: number,
): ReadonlyMap<string, string> {
  const plainName = (deployment: Deployment) => {
    const { model_name: model, owner } = deployment
    const name = text.playground.deploymentName(model, nameVariant(deployment))
    return owner.user_id === String(userId) ? name : `${name} · ${owner.name || owner.email}`
  }
  const sharing = Map.groupBy(deployments.filter(isUsable), plainName)
  return new Map(
    deployments.map((one) => {
      const name = plainName(one)
      return [one.id, (sharing.get(name)?.length ?? 0) > 1 ? `${name} · ${shortenId(one.id)}` : name]
    }),
  )
}
