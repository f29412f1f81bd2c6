import type { Deployment } from '../../contract.ts'
import { text } from '../../text/index.ts'

type Status = Pick<Deployment, 'status' | 'waiting_for'>

/** Whether a running deployment does not answer, because its engine is unreachable or restarting. */
export const isInterrupted = ({ status, waiting_for }: Status) =>
  status === 'running' && waiting_for !== null && waiting_for !== 'resize'

/** What the deployment is waiting for, as a sentence; null for nothing. */
export const describeWaiting = ({ waiting_for, status_message }: Deployment) =>
  waiting_for === 'resize' ? text.deployments.waitsForResize : status_message

/** Whether the deployment is starting or terminating. */
export const isMoving = ({ status }: Pick<Deployment, 'status'>) =>
  ['requested', 'provisioning', 'deploying', 'terminating'].includes(status)

/** Whether the deployment is expected to change state without a request. */
export const isChanging = (deployment: Status) => isMoving(deployment) || isInterrupted(deployment)

/** Whether the playground can call the deployment. It has no view for ranking. */
export const isPlayable = ({ status, model_type }: Pick<Deployment, 'status' | 'model_type'>) =>
  status === 'running' && model_type !== 'rerank'

export const isEnding = ({ status }: Pick<Deployment, 'status'>) =>
  status === 'terminating' || status === 'terminated'
