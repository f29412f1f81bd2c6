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
