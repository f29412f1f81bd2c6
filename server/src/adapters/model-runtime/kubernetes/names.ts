import type { EngineSpec } from '../../../ports/model-runtime.ts'

/** Port of every engine. */
export const enginePort = 8000
/** Name of the engine's container in its pod. */
export const engineContainer = 'engine'
export const gpuResource = 'nvidia.com/gpu'
/** Where the volume for weights is mounted in a pod. */
export const cacheFolder = '/cache'
/** Where a pod joins the parts of a local weights file. */
export const localFilePath = `/tmp/model.gguf`

export const labels = {
  managedBy: 'app.kubernetes.io/managed-by',
  name: 'app.kubernetes.io/name',
  component: 'app.kubernetes.io/component',
  deploymentId: 'berth.dev/deployment-id',
  instanceType: 'berth.dev/instance-type',
  /** Set by LeaderWorkerSet; 0 is the leader */
  workerIndex: 'leaderworkerset.sigs.k8s.io/worker-index',
} as const

/** Selects all objects of this installation. */
export const managedSelector = `${labels.managedBy}=berth,${labels.deploymentId}`

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The name that all objects of a deployment share. Throws RangeError if the id is not a UUID. */
export function objectNameOf(deploymentId: string): string {
  if (!uuid.test(deploymentId)) throw new RangeError('A deployment id must be a lower-case UUID.')
  return `dep-${deploymentId}`
}

/** The name of the Secret with one part of a local weights file. */
export function weightPartName(deploymentId: string, index: number): string {
  return `${objectNameOf(deploymentId)}-weights-${index}`
}

export function selectorOf(deploymentId: string): string {
  return `${labels.managedBy}=berth,${labels.deploymentId}=${deploymentId}`
}

/** The labels of all pods of a deployment. */
export function podLabels({ deploymentId }: EngineSpec) {
  return { [labels.managedBy]: 'berth', [labels.deploymentId]: deploymentId }
}
