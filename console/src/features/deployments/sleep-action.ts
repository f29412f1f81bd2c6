import type { Deployment } from '../../contract.ts'
import { isOfEndpoint } from '../../domain/models/endpoint-models.ts'
import { isFallingAsleep } from '../../domain/deployments/status.ts'

/** What a person may do about a deployment's sleep now; null while it starts and after its end. */
export function findSleepAction(deployment: Deployment): 'sleep' | 'wake' | null {
  if (deployment.status === 'sleeping' || isFallingAsleep(deployment)) return 'wake'
  return deployment.status === 'running' && !isOfEndpoint(deployment) ? 'sleep' : null
}
