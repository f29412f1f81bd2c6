import type { EngineSpec, GpuVendor, InstanceType } from '../../../ports/model-runtime.ts'

/** Port of every engine. */
export const enginePort = 8000
/** Name of the engine's container in its pod. */
export const engineContainer = 'engine'
/** The resources of whole GPUs */
const gpuResources: Record<GpuVendor, string> = {
  nvidia: 'nvidia.com/gpu',
  amd: 'amd.com/gpu',
  // No cluster has these.
  apple: 'apple.com/gpu',
}

/** The resource that counts the GPUs of a type in a cluster */
export function resourceOf({ vendor, resource }: Pick<InstanceType, 'vendor' | 'resource'>): string {
  return resource ?? gpuResources[vendor]
}

/** The resource of the whole GPUs of a type, after which their nodes are often tainted */
export function wholeResourceOf({ vendor }: Pick<InstanceType, 'vendor'>): string {
  return gpuResources[vendor]
}

/** Where the volume for weights is mounted in a pod. */
export const cacheFolder = '/cache'
/** Where a pod joins the parts of a local weights file. */
export const localFilePath = `/tmp/model.gguf`
/** Key of the address of an uploaded file in the Secret of an engine. */
export const modelUrlKey = 'model-url'

export const labels = {
  managedBy: 'app.kubernetes.io/managed-by',
  name: 'app.kubernetes.io/name',
  component: 'app.kubernetes.io/component',
  engineId: 'berth.dev/instance-id',
  /** For people: the deployment that the engine serves */
  deploymentId: 'berth.dev/deployment-id',
  instanceType: 'berth.dev/instance-type',
  /** Set by LeaderWorkerSet; 0 is the leader */
  workerIndex: 'leaderworkerset.sigs.k8s.io/worker-index',
} as const

/** Selects all objects of this installation. */
export const managedSelector = `${labels.managedBy}=berth,${labels.engineId}`

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The name that all objects of an engine share. Throws RangeError if the id is not a UUID. */
export function objectNameOf(engineId: string): string {
  if (!uuid.test(engineId)) throw new RangeError('An engine id must be a lower-case UUID.')
  return `dep-${engineId}`
}

/** The name of the Secret with one part of a local weights file. */
export function weightPartName(engineId: string, index: number): string {
  return `${objectNameOf(engineId)}-weights-${index}`
}

export function selectorOf(engineId: string): string {
  return `${labels.managedBy}=berth,${labels.engineId}=${engineId}`
}

/** The labels that select all pods of an engine. */
export function podLabels({ engineId }: EngineSpec) {
  return { [labels.managedBy]: 'berth', [labels.engineId]: engineId }
}
