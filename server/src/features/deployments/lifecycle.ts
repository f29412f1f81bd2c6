/**
 * What a deployment's status may become. A failed deployment releases its instance by itself; deleting is possible in every
 * state, and only a confirmed release ends in `terminated`.
 */
export const transitions = {
  requested: ['provisioning', 'failed', 'terminating'],
  provisioning: ['deploying', 'failed', 'terminating'],
  deploying: ['running', 'failed', 'terminating'],
  running: ['failed', 'terminating'],
  failed: ['terminating'],
  terminating: ['terminated'],
  terminated: [],
} as const satisfies Record<string, readonly string[]>

export type DeploymentStatus = keyof typeof transitions

/** The statuses that may follow `From`; anything else does not compile. */
export type NextStatus<From extends DeploymentStatus> = (typeof transitions)[From][number]

export const deploymentStatuses = Object.keys(transitions) as [DeploymentStatus, ...DeploymentStatus[]]

export function mayBecome(from: DeploymentStatus, to: DeploymentStatus): boolean {
  return (transitions[from] as readonly DeploymentStatus[]).includes(to)
}
