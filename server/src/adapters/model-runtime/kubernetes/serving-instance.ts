import type { V1Pod } from '@kubernetes/client-node'
import type { ServingInstance } from '../../../ports/model-runtime.ts'
import type { KubernetesContext } from './context.ts'
import { labels, selectorOf } from './names.ts'
import { findLoss } from './observe.ts'
import type { EngineSnapshot } from './observe.ts'
import { createdAt, describeInstance, findCondition, findEngine, isReady, isTerminating } from './pods.ts'
import { readPodSnapshot } from './snapshots.ts'

/** Reads the pods again only if the workload has become available again since the last time. */
export async function findServingInstance(
  { cluster, types, serving }: KubernetesContext,
  engineId: string,
  { workload, pods: known }: EngineSnapshot,
): Promise<ServingInstance | undefined> {
  const availableSince = workload?.availableSince
  const seen = serving.get(engineId)
  if (seen !== undefined && known.length === 0 && seen.availableSince === availableSince) return seen.instance
  // A stale list could name the old pod, and this process would not read again.
  const found =
    known.length > 0 ? known.map((each) => each.pod) : await cluster.listPods(selectorOf(engineId))
  const ready = found.filter(isReady)
  const [first] = ready
  if (first === undefined) return undefined
  const gpuModel = types.get(first.metadata?.labels?.[labels.instanceType] ?? '')?.gpuModel ?? 'unknown GPU'
  const lost = await Promise.all(found.filter(isTerminating).map((each) => readPodSnapshot(cluster, each)))
  const instance = {
    ...describeInstance(ready, gpuModel),
    createdAt: new Date(Math.max(...ready.map(createdAt))),
    startedAt: new Date(Math.max(...ready.map(engineStartedAt))),
    reason: findLoss(lost)?.message ?? null,
  }
  serving.set(engineId, { availableSince, instance })
  return instance
}

/** The start of the engine's current container. */
function engineStartedAt(found: V1Pod): number {
  return (
    (
      findEngine(found)?.state?.running?.startedAt ?? findCondition(found, 'Ready')?.lastTransitionTime
    )?.getTime() ?? createdAt(found)
  )
}
