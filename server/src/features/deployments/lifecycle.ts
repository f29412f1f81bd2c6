/**
 * The legal status transitions. A failed deployment releases its instance automatically. A deployment becomes `terminated` only
 * when the runtime has confirmed the release.
 */
export const transitions = {
  requested: ['provisioning', 'failed', 'terminating'],
  provisioning: ['deploying', 'failed', 'terminating'],
  deploying: ['running', 'provisioning', 'failed', 'terminating'],
  running: ['provisioning', 'failed', 'terminating'],
  failed: ['terminating'],
  terminating: ['terminated'],
  terminated: [],
} as const satisfies Record<string, readonly string[]>

export type DeploymentStatus = keyof typeof transitions

/** The statuses that may follow `From`, so that an illegal transition doesn't compile. */
export type NextStatus<From extends DeploymentStatus> = (typeof transitions)[From][number]

export const deploymentStatuses = Object.keys(transitions) as [DeploymentStatus, ...DeploymentStatus[]]

export function canTransition(from: DeploymentStatus, to: DeploymentStatus): boolean {
  return (transitions[from] as readonly DeploymentStatus[]).includes(to)
}

/** True for a deployment that runs or is on the way to it. */
export function isActive(status: DeploymentStatus): boolean {
  return status !== 'failed' && status !== 'terminating' && status !== 'terminated'
}
