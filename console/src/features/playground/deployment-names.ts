import type { Deployment } from '../../../../server/src/contract.ts'
import { formatParameters } from '../../format.ts'
import { text } from '../../text/index.ts'

export const isEnding = ({ status }: Deployment) => status === 'terminating' || status === 'terminated'

/** A name for each deployment, by its id; those that would share one get the end of their id. */
export function nameDeployments(deployments: readonly Deployment[]): ReadonlyMap<string, string> {
  const plainName = (deployment: Deployment) =>
    text.playground.deploymentName(
      deployment.model_name,
      formatParameters(deployment.model_size_in_billions),
      deployment.quantization,
    )
  const sharing = Map.groupBy(
    deployments.filter((one) => !isEnding(one)),
    plainName,
  )
  return new Map(
    deployments.map((one) => {
      const name = plainName(one)
      return [one.id, (sharing.get(name)?.length ?? 0) > 1 ? `${name} · …${one.id.slice(-4)}` : name]
    }),
  )
}
