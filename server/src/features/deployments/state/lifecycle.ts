/**
 * The transitions of `deriveStatus`, a wake and a termination. Only a first start fails.
 * Only a release that the runtime confirms makes it `terminated`.
 */
export const deploymentTransitions = {
  requested: ['provisioning', 'failed', 'terminating'],
  provisioning: ['deploying', 'sleeping', 'failed', 'terminating'],
  deploying: ['running', 'provisioning', 'sleeping', 'failed', 'terminating'],
  running: ['provisioning', 'deploying', 'sleeping', 'terminating'],
  sleeping: ['provisioning', 'terminating'],
  failed: ['terminating'],
  terminating: ['terminated'],
  terminated: [],
} as const satisfies Record<string, readonly string[]>

export type DeploymentStatus = keyof typeof deploymentTransitions

export const deploymentStatuses = Object.keys(deploymentTransitions) as [
  DeploymentStatus,
  ...DeploymentStatus[],
]

/** What a deployment is to be. Its status says how far it is. */
export type DesiredState = 'awake' | 'asleep' | 'ended'

/** What the next step of an instance may wait for, as the reconciler records it. */
export const waitingStates = ['instance', 'engine', 'stop', 'release', 'drain', 'runtime', 'retry'] as const

export type WaitingState = (typeof waitingStates)[number]

/** What a deployment may wait for. `resize` follows from its minimums: a larger instance is to take over. */
export const waitingReasons = [...waitingStates, 'resize'] as const

export type WaitingFor = (typeof waitingReasons)[number]

/** The statuses of a deployment that starts, for the first time or again. */
export const startingStatuses: readonly DeploymentStatus[] = ['requested', 'provisioning', 'deploying']

/** True for a deployment that is running, starting or asleep. */
export function isActive(status: DeploymentStatus): boolean {
  return status !== 'failed' && status !== 'terminating' && status !== 'terminated'
}
