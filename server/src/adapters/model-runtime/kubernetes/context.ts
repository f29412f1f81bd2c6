import type { InstanceType, ServingAllocation } from '../../../ports/model-runtime.ts'
import type { Cluster, ObjectReference } from './cluster.ts'
import { objectNameOf } from './names.ts'
import { workloadKinds } from './objects.ts'
import type { KubernetesRuntimeSettings } from './settings.ts'

/** What the operations of the runtime share. */
export interface KubernetesContext {
  cluster: Cluster
  settings: KubernetesRuntimeSettings
  types: ReadonlyMap<string, InstanceType>
  /** Fingerprints of the objects that this process applied; only saves requests */
  applied: Map<string, string>
  /** The serving instances that this process has seen; only saves requests */
  serving: Map<string, { availableSince: number | undefined; instance: ServingAllocation }>
}

export const { deployment: deploymentKind, leaderWorkerSet: setKind } = workloadKinds

/** Names the workload of an engine. */
export function workloadOf(engineId: string, kind: typeof deploymentKind | typeof setKind): ObjectReference {
  return { ...kind, name: objectNameOf(engineId) }
}
