import type { Services } from '../../../services.ts'
import { listCapabilities } from '../../catalog/list-capabilities.ts'
import type { CapabilityTag } from '../../catalog/list-capabilities.ts'
import type { ServingDeployment } from './serving-deployments.ts'

export type ModelCapability = 'chat' | 'embeddings' | 'rerank' | CapabilityTag

/** What each of these deployments of one model, at least one, can do, as far as the catalog says. */
export async function listModelCapabilities(
  deps: Pick<Services, 'db' | 'runtimes'>,
  deployments: readonly ServingDeployment[],
): Promise<ModelCapability[]> {
  const { baseModelName, modelType, organizationId } = deployments[0]!
  if (modelType === 'embedding') return ['embeddings']
  if (modelType === 'rerank') return ['rerank']
  const formats = new Set(deployments.map(({ format }) => format))
  return ['chat', ...(await listCapabilities(deps, organizationId, baseModelName, [...formats]))]
}
