import type { Deployment, DeploymentStatus } from '../../contract.ts'
import { isEnding } from '../../domain/deployments/status.ts'
import { text } from '../../text/index.ts'
import {
  describeDeployment,
  nameDeployment,
  shortenId,
  toRequestModel,
} from '../../domain/deployments/names.ts'

/** What a request names: a deployment, or a LoRA that it serves. */
export interface Target {
  /** The `model` of requests: the deployment's id, or `id:adapter` */
  id: string
  deployment: Deployment
  /** Name of the LoRA; null for the deployment's own model */
  adapter: string | null
  /** That of the deployment; a LoRA that its engine lacks is still starting */
  status: DeploymentStatus
}

/** The deployments, each followed by its LoRAs. */
export function listTargets(deployments: readonly Deployment[]): Target[] {
  return deployments.flatMap((deployment) => {
    const { id, status, adapters } = deployment
    return [
      { id, deployment, adapter: null, status },
      ...adapters.map(({ model_name: adapter, ready }) => ({
        id: addAdapter(id, adapter),
        deployment,
        adapter,
        status: status === 'running' && !ready ? 'deploying' : status,
      })),
    ]
  })
}

/** The `model` of code samples. */
export const toSampleModel = ({ deployment, adapter }: Target) =>
  addAdapter(toRequestModel(deployment), adapter)

export const toDeploymentId = (targetId: string) => targetId.split(':', 1)[0]!

/** Whether the target answers now or will once it runs. */
export const isUsable = (target: Pick<Target, 'status'>) => !isEnding(target) && target.status !== 'failed'

/** The target of a view for one: that of the URL, or a running one, else one that will answer. */
export function chooseTarget(
  targets: readonly Target[],
  ids: readonly string[],
): { id: string | undefined; target: Target | undefined } {
  const usable = targets.filter(isUsable)
  const id = ids[0] ?? (usable.find(({ status }) => status === 'running') ?? usable[0])?.id
  return { id, target: targets.find((one) => one.id === id) }
}

/** Unique target names by id: others' targets name their owner; usable namesakes get a shortened id. */
export function nameTargets(targets: readonly Target[], userId: number): ReadonlyMap<string, string> {
  const plainName = ({ deployment, adapter }: Target) => {
    const { owner } = deployment
    const name = text.playground.deploymentName(
      addAdapter(nameDeployment(deployment), adapter),
      describeDeployment(deployment),
    )
    return owner.user_id === String(userId) ? name : text.playground.ofOwner(name, owner.name || owner.email)
  }
  const sharing = Map.groupBy(targets.filter(isUsable), plainName)
  return new Map(
    targets.map((one) => {
      const name = plainName(one)
      const isUnique = (sharing.get(name)?.length ?? 0) <= 1
      return [one.id, isUnique ? name : `${name} · ${shortenId(one.deployment.id)}`]
    }),
  )
}

/** Adds a LoRA to a name or id of a deployment, as requests do. */
function addAdapter(name: string, adapter: string | null): string {
  return adapter === null ? name : `${name}:${adapter}`
}
