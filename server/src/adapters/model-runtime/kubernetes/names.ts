/** The port that every engine listens on. */
export const enginePort = 8000
/** The container of the engine in its pod. */
export const engineContainer = 'engine'

export const labels = {
  managedBy: 'app.kubernetes.io/managed-by',
  name: 'app.kubernetes.io/name',
  component: 'app.kubernetes.io/component',
  deploymentId: 'berth.dev/deployment-id',
  instanceType: 'berth.dev/instance-type',
  /** LeaderWorkerSet's own: 0 is the leader */
  workerIndex: 'leaderworkerset.sigs.k8s.io/worker-index',
} as const

/** What all objects of this installation have in common. */
export const managedSelector = `${labels.managedBy}=berth,${labels.deploymentId}`

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The one name of all objects of a deployment; throws RangeError for an id that is no UUID. */
export function objectNameOf(deploymentId: string): string {
  if (!uuid.test(deploymentId)) throw new RangeError('A deployment id must be a lower-case UUID.')
  return `dep-${deploymentId}`
}

export function selectorOf(deploymentId: string): string {
  return `${labels.managedBy}=berth,${labels.deploymentId}=${deploymentId}`
}
