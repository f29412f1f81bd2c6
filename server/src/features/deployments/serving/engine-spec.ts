import { deriveKey } from '../../../base/derive-key.ts'
import type { Services } from '../../../services.ts'
import type { EngineSpec } from '../../../ports/model-runtime.ts'
import type { WeightSource } from '../../../ports/model-variant.ts'
import { parseStoredVariant } from '../../catalog/stored-model.ts'
import { groupByFile } from '../../placement/loaded-loras.ts'
import { findWeightToken } from '../../own-models/hub-tokens.ts'
import { deriveFileKey } from '../../own-models/uploads/file-key.ts'
import type { Instance } from '../state/instance-store.ts'
import type { Deployment } from '../state/store.ts'
import type { CacheScope } from '../state/tables.ts'

/** The API key of an engine, derived from the server's secret key and therefore never stored. */
export function deriveEngineKey(secretKey: string, deploymentId: string): string {
  return deriveKey(secretKey, 'engine', deploymentId).toString('base64url')
}

/** Separates the cached prompts of organizations or people. It is secret, so it can't be used to probe. */
export function deriveCacheSalt(
  secretKey: string,
  scope: CacheScope,
  { organizationId, userId }: { organizationId: number; userId: number },
): string {
  const id = scope === 'organization' ? organizationId : `${organizationId}/${userId}`
  return deriveKey(secretKey, 'cache-salt', id).toString('base64url')
}

/** Builds the spec for the runtime. Throws if no instance type has been selected yet. */
export async function readEngineSpec(
  deps: Pick<Services, 'db' | 'runtimes' | 'secretKey'>,
  deployment: Deployment,
  instance: Instance,
): Promise<EngineSpec> {
  const { instance_type, gpu_count, memory_bytes, context_tokens, parallel_sequences } = instance
  if (
    instance_type === null ||
    gpu_count === null ||
    memory_bytes === null ||
    context_tokens === null ||
    parallel_sequences === null
  ) {
    throw new Error(`instance ${instance.id} has no type selected`)
  }
  const variant = parseStoredVariant(deployment)
  const tokenOf = (weights: WeightSource) => findWeightToken(deps, deployment.organization_id, weights)
  const loras = groupByFile(instance.adapters).map(async ([lora]) => ({
    ...lora,
    hubToken: await tokenOf(lora.weights),
  }))
  const { inference_model_uid: modelUid } = deployment
  const ownName = deps.runtimes.get(instance.runtime).nameModel?.({ engineId: instance.id, modelUid })
  return {
    engineId: instance.id,
    deploymentId: deployment.id,
    modelUid: ownName ?? modelUid,
    servedModelName: ownName ?? instance.served_model_name,
    apiKey: deriveEngineKey(deps.secretKey, deployment.id),
    clusterId: instance.cluster_id,
    variant,
    hubToken: await tokenOf(variant.weights),
    ...(variant.weights.kind === 'upload' ? { fileKey: deriveFileKey(deps.secretKey, deployment.id) } : {}),
    loras: await Promise.all(loras),
    engineOptions: instance.engine_settings?.engine_options,
    engineVersion: instance.engine_settings?.engine_version ?? undefined,
    instanceType: instance_type,
    gpuCount: gpu_count,
    memoryBytes: memory_bytes,
    contextTokens: context_tokens,
    parallelSequences: parallel_sequences,
  }
}
