import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import type { EngineSnapshot, WorkloadSnapshot } from '../../src/adapters/model-runtime/kubernetes/observe.ts'

// Pods and events in the API server's format, for the tests in this folder.

export const now = Date.parse('2026-01-01T12:00:00Z')
export const endpoint = { baseUrl: 'http://dep-x.berth.svc:8000' }
export const timeouts = { now, capacityWaitMs: 120_000 }
export const workload: WorkloadSnapshot = { replicas: 1, nodes: 1, isReady: false, creationErrors: [] }

/** Seconds before now. */
export const ago = (seconds: number) => new Date(now - seconds * 1000)

export interface PodFacts {
  created?: number
  node?: string | null
  unschedulable?: string
  container?: object
  status?: object
  deleted?: boolean
}

/** By default the pod was scheduled to node-1 a minute ago. */
export function makePod({
  created = 60,
  node = 'node-1',
  unschedulable,
  container,
  status,
  deleted,
}: PodFacts): V1Pod {
  const scheduled =
    node === null
      ? {
          status: 'False',
          reason: 'Unschedulable',
          ...(unschedulable === undefined ? {} : { message: unschedulable }),
        }
      : { status: 'True', lastTransitionTime: ago(created) }
  return {
    metadata: {
      name: 'dep-x-1',
      creationTimestamp: ago(created),
      ...(deleted ? { deletionTimestamp: ago(1) } : {}),
    },
    spec: { containers: [], ...(node === null ? {} : { nodeName: node }) },
    status: {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', ...scheduled }],
      ...(container === undefined
        ? {}
        : {
            containerStatuses: [
              {
                name: 'engine',
                image: 'vllm/vllm-openai:v9',
                imageID: '',
                ready: false,
                restartCount: 0,
                ...container,
              },
            ],
          }),
      ...status,
    },
  }
}

export function makeEvent(reason: string, message: string): CoreV1Event {
  return { reason, message, metadata: {}, involvedObject: {} }
}

export function makeSnapshot(
  facts: PodFacts,
  { events = [], lastLines = [] }: { events?: CoreV1Event[]; lastLines?: string[] } = {},
): EngineSnapshot {
  return { workload, pods: [{ pod: makePod(facts), events, lastLines }] }
}

export const waiting = (reason: string, message?: string) => ({ state: { waiting: { reason, message } } })
export const ended = (exitCode: number, reason = 'Error') => ({ terminated: { exitCode, reason } })
export const crashLoop = (exitCode = 1) => ({
  restartCount: 4,
  ...waiting('CrashLoopBackOff', 'back-off 1m20s restarting failed container=engine'),
  lastState: ended(exitCode),
})
export const running = { state: { running: { startedAt: ago(30) } } }
export const ready = { conditions: [{ type: 'Ready', status: 'True' }] }
