import type { Deployment } from '../../contract.ts'

type Status = Pick<Deployment, 'status' | 'waiting_for' | 'instances'>

/** Whether a deployment finishes its last requests before it sleeps. A further request keeps it awake. */
export const isFallingAsleep = ({ status, instances }: Pick<Deployment, 'status' | 'instances'>) =>
  status === 'running' &&
  instances.length > 0 &&
  instances.every((instance) => instance.status === 'draining' || instance.status === 'releasing')

/** Waits during which a deployment still answers: a further instance, larger hardware, last requests */
const harmlessWaits: ReadonlySet<string> = new Set(['instance', 'resize', 'drain'])

/** Whether a running deployment does not answer, because its engine is unreachable or restarting. */
export const isInterrupted = (deployment: Status) =>
  deployment.status === 'running' &&
  deployment.waiting_for !== null &&
  !harmlessWaits.has(deployment.waiting_for) &&
  !isFallingAsleep(deployment)

/** Whether the deployment answers requests; a sleeping one wakes up for them. */
export const answersRequests = ({ status }: Pick<Deployment, 'status'>) =>
  status === 'running' || status === 'sleeping'

/** Whether the deployment is starting or terminating. */
export const isMoving = ({ status }: Pick<Deployment, 'status'>) =>
  ['requested', 'provisioning', 'deploying', 'terminating'].includes(status)

/** Whether the deployment is expected to change state without a request. */
export const isChanging = (deployment: Status) =>
  isMoving(deployment) || isInterrupted(deployment) || isFallingAsleep(deployment)

export const isEnding = ({ status }: Pick<Deployment, 'status'>) =>
  status === 'terminating' || status === 'terminated'

/** Whether the deployment will never answer again. */
export const isFinished = (deployment: Pick<Deployment, 'status'>) =>
  deployment.status === 'failed' || isEnding(deployment)
