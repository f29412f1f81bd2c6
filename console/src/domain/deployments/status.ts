import type { Deployment } from '../../../../server/src/contract.ts'

type Status = Pick<Deployment, 'status' | 'status_message'>

/** Whether a running deployment does not answer, because its engine is unreachable or restarting. */
export const isInterrupted = ({ status, status_message }: Status) =>
  status === 'running' && status_message !== null

/** Whether the deployment is starting or terminating. */
export const isMoving = ({ status }: Pick<Deployment, 'status'>) =>
  ['requested', 'provisioning', 'deploying', 'terminating'].includes(status)

/** Whether the deployment is expected to change state without a request. */
export const isChanging = (deployment: Status) => isMoving(deployment) || isInterrupted(deployment)

export const isEnding = ({ status }: Pick<Deployment, 'status'>) =>
  status === 'terminating' || status === 'terminated'
