/**
 * The legal status transitions. A failed deployment releases its instances automatically. A deployment
 * becomes `terminated` only when the runtime has confirmed the release. The status follows from the instances
 * (`derive-status.ts`).
 */
export const transitions = {
  requested: ['provisioning', 'failed', 'terminating'],
  provisioning: ['deploying', 'sleeping', 'failed', 'terminating'],
  deploying: ['running', 'provisioning', 'failed', 'terminating'],
  running: ['provisioning', 'deploying', 'sleeping', 'failed', 'terminating'],
  sleeping: ['provisioning', 'terminating'],
  failed: ['terminating'],
  terminating: ['terminated'],
  terminated: [],
} as const satisfies Record<string, readonly string[]>

export type DeploymentStatus = keyof typeof transitions

export const deploymentStatuses = Object.keys(transitions) as [DeploymentStatus, ...DeploymentStatus[]]

/** What the owner wants of a deployment. */
export type WantedState = 'awake' | 'asleep' | 'ended'

/** What the next step of an instance may wait for, as the reconciler records it. */
export const waitingStates = ['instance', 'engine', 'stop', 'release', 'drain', 'runtime', 'retry'] as const

export type WaitingState = (typeof waitingStates)[number]

/** What a deployment may wait for. `resize` follows from its minimums: a larger instance is to take over. */
export const waitingReasons = [...waitingStates, 'resize'] as const

export type WaitingFor = (typeof waitingReasons)[number]

export function canTransition(from: DeploymentStatus, to: DeploymentStatus): boolean {
  return (transitions[from] as readonly DeploymentStatus[]).includes(to)
}

/** True for a deployment that is running, starting or asleep. */
export function isActive(status: DeploymentStatus): boolean {
  return status !== 'failed' && status !== 'terminating' && status !== 'terminated'
}
