import { createHmac } from 'node:crypto'
import type { EngineSpec } from '../../ports/model-runtime.ts'
import type { Deployment } from './store.ts'

/** The secret that an engine asks of its callers: derived from the server's own key, so it is stored nowhere. */
export function deriveEngineKey(secretKey: string, deploymentId: string): string {
  return createHmac('sha256', secretKey).update(`engine:${deploymentId}`).digest('base64url')
}

/** What the runtime is told to run; throws before an instance was selected. */
export function toEngineSpec(deployment: Deployment, secretKey: string): EngineSpec {
  const { selected_instance_type, gpu_count, memory_bytes, context_tokens, parallel_sequences } = deployment
  if (
    selected_instance_type === null ||
    gpu_count === null ||
    memory_bytes === null ||
    context_tokens === null ||
    parallel_sequences === null
  ) {
    throw new Error(`deployment ${deployment.id} has no instance selected`)
  }
  return {
    deploymentId: deployment.id,
    modelUid: deployment.inference_model_uid,
    apiKey: deriveEngineKey(secretKey, deployment.id),
    clusterId: deployment.cluster_id,
    variant: deployment.variant,
    instanceType: selected_instance_type,
    gpuCount: gpu_count,
    memoryBytes: memory_bytes,
    contextTokens: context_tokens,
    parallelSequences: parallel_sequences,
  }
}
