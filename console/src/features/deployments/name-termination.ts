import type { Deployment } from '../../contract.ts'
import { text } from '../../text/index.ts'

/** The label of the action: terminate, or delete a failed deployment. */
export const nameTermination = ({ status }: Deployment) =>
  status === 'failed' ? text.deployments.remove : text.deployments.terminate
