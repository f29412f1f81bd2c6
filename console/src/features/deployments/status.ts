import type { Deployment } from '../../../../server/src/contract.ts'

type Seen = Pick<Deployment, 'status' | 'status_message'>

/** Whether it runs but does not answer now: its engine is away, or is being started again. */
export const isInterrupted = ({ status, status_message }: Seen) =>
  status === 'running' && status_message !== null

/** Whether it is on the way from one state to another. */
export const isMoving = ({ status }: Pick<Deployment, 'status'>) =>
  ['requested', 'provisioning', 'deploying', 'terminating'].includes(status)

/** Whether something is under way that will change the deployment by itself. */
export const isChanging = (deployment: Seen) => isMoving(deployment) || isInterrupted(deployment)

/** Whether it is ending or has ended. */
export const isEnding = ({ status }: Seen) => status === 'terminating' || status === 'terminated'

/** Splits `<code>: <sentence>` */
export function parseFailure(reason: string): { code: string; sentence: string } {
  const [, code, sentence] = /^([a-z_]+): (.*)$/s.exec(reason) ?? []
  return code !== undefined && sentence !== undefined ? { code, sentence } : { code: '', sentence: reason }
}
