import { describe, expect, test } from 'vitest'
import { evaluateEngine, evaluateScheduling } from './observe.ts'
import type { EngineSnapshot } from './observe.ts'
import {
  ago,
  crashLoop,
  endpoint,
  ended,
  makeEvent,
  makePod,
  timeouts,
  ready,
  running,
  makeSnapshot,
  waiting,
  workload,
} from '../../../../test/support/pods.ts'

/** What the kubelet reports before a back-off */
const pullEvents = (cause: string) => [
  makeEvent('Failed', `Failed to pull image "vllm/vllm-openai:v9": ${cause}`),
  makeEvent('Failed', 'Error: ImagePullBackOff'),
]

describe('evaluateEngine', () => {
  test('absent: no workload, or one that was scaled to zero', () => {
    expect(evaluateEngine({ workload: null, pods: [] }, endpoint, timeouts)).toEqual({ phase: 'absent' })
    const stopped = { workload: { ...workload, replicas: 0 }, pods: [] }
    expect(evaluateEngine(stopped, endpoint, timeouts)).toEqual({ phase: 'absent' })
  })

  test('ready: the workload or all its pods are ready', () => {
    const answer = { phase: 'ready', endpoint }
    expect(
      evaluateEngine({ workload: { ...workload, isReady: true }, pods: [] }, endpoint, timeouts),
    ).toEqual(answer)
    const snapshot = makeSnapshot({ container: running, status: ready })
    expect(evaluateEngine(snapshot, endpoint, timeouts)).toEqual(answer)
    const half = { ...snapshot, workload: { ...workload, nodes: 2 } }
    expect(evaluateEngine(half, endpoint, timeouts)).toMatchObject({ phase: 'starting' })
  })

  test.each<[string, EngineSnapshot, string | RegExp]>([
    ['no pod yet', { workload, pods: [] }, "The engine's pod is being created."],
    [
      'not yet seen by the scheduler',
      makeSnapshot({ node: null, created: 1 }),
      "The engine's pod is waiting for a node.",
    ],
    [
      'no node for 30 seconds',
      makeSnapshot({
        node: null,
        created: 30,
        unschedulable: '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.',
      }),
      "The engine's pod is waiting for a node: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
    ],
    [
      'no node for 5 minutes, but the autoscaler adds one',
      makeSnapshot(
        { node: null, created: 300, unschedulable: '0/3 nodes are available.' },
        { events: [makeEvent('TriggeredScaleUp', 'pod triggered scale-up')] },
      ),
      /^The engine's pod is waiting for a node/,
    ],
    [
      'image being pulled',
      makeSnapshot({ container: waiting('ContainerCreating') }),
      /^Node node-1 is pulling/,
    ],
    [
      'a short registry outage',
      makeSnapshot({ container: waiting('ErrImagePull', 'i/o timeout') }),
      /i\/o timeout/,
    ],
    [
      'a back-off after a short registry outage',
      makeSnapshot(
        { container: waiting('ImagePullBackOff', 'Back-off pulling image') },
        { events: pullEvents('no such host') },
      ),
      /waiting on node node-1: no such host/,
    ],
    [
      'its Secret does not exist yet',
      makeSnapshot({ created: 5, container: waiting('CreateContainerConfigError') }),
      /waiting on/,
    ],
    ['running', makeSnapshot({ container: running }), 'The engine is downloading and loading the model.'],
    [
      'the model is loaded, and the readiness probe has not run yet',
      makeSnapshot({
        container: { ...running, started: true },
        status: { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: ago(60) }] },
      }),
      'The engine has loaded the model and is almost ready.',
    ],
    [
      'a failed health check',
      makeSnapshot({
        container: { ...running, started: true },
        status: { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: ago(5) }] },
      }),
      'The engine is not answering its health check.',
    ],
    [
      'one exit for an unknown reason',
      makeSnapshot({ container: { restartCount: 0, state: ended(1) } }, { lastLines: ['oops'] }),
      'The engine exited with code 1 and is being restarted.',
    ],
    [
      'a download that failed once',
      makeSnapshot(
        { container: { restartCount: 1, ...running, lastState: ended(1) } },
        { lastLines: ['Max retries exceeded'] },
      ),
      'The engine exited with code 1 and was restarted. The engine is downloading and loading the model.',
    ],
    [
      'a lost pod whose replacement has run',
      {
        workload,
        pods: [
          { pod: makePod({ container: { ...running, started: true } }), events: [], lastLines: [] },
          { pod: makePod({ status: { phase: 'Failed', reason: 'Evicted' } }), events: [], lastLines: [] },
        ],
      },
      /almost ready/,
    ],
  ])('starting: %s', (_name, snapshot, message) => {
    expect(evaluateEngine(snapshot, endpoint, timeouts)).toEqual({
      phase: 'starting',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    })
  })

  test.each<[string, EngineSnapshot, string, string, RegExp]>([
    [
      'no capacity on any node',
      makeSnapshot({
        node: null,
        created: 121,
        unschedulable: '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.',
      }),
      'provisioning',
      'no_capacity',
      /^No node had capacity for the engine within 120 seconds: 0\/3 nodes are available: 3 Insufficient nvidia\.com\/gpu\.$/,
    ],
    [
      'no capacity, according to the scheduler of Kubernetes 1.36',
      makeSnapshot({
        node: null,
        created: 121,
        unschedulable:
          "0/6 nodes are available: 1 Insufficient nvidia.com/gpu, 5 node(s) didn't match Pod's node affinity/selector. " +
          'no new claims to deallocate, preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling.',
      }),
      'provisioning',
      'no_capacity',
      /: 0\/6 nodes are available: 1 Insufficient nvidia\.com\/gpu, 5 .* affinity\/selector\.$/,
    ],
    [
      'no matching node',
      makeSnapshot({
        node: null,
        created: 121,
        unschedulable: "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
      }),
      'provisioning',
      'no_capacity',
      /node affinity\/selector\.$/,
    ],
    [
      'a volume claim that does not exist',
      makeSnapshot({
        node: null,
        created: 2,
        unschedulable: '0/3 nodes are available: persistentvolumeclaim "weights" not found.',
      }),
      'provisioning',
      'provider_error',
      /claim .* does not exist.*"weights"/,
    ],
    [
      'quota',
      {
        workload: {
          ...workload,
          creationErrors: [
            'pods "dep-x-1" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=4, limited: requests.nvidia.com/gpu=4',
          ],
        },
        pods: [],
      },
      'provisioning',
      'quota_exceeded',
      /^The namespace's resource quota does not allow another engine: exceeded quota: gpus/,
    ],
    [
      'an admission policy',
      {
        workload: {
          ...workload,
          creationErrors: ['pods "dep-x-1" is forbidden: violates PodSecurity "restricted:latest"'],
        },
        pods: [],
      },
      'provisioning',
      'provider_error',
      /violates PodSecurity/,
    ],
    [
      'an invalid image name',
      makeSnapshot({ container: waiting('InvalidImageName', "couldn't parse") }),
      'engine_startup',
      'provider_error',
      /vllm\/vllm-openai:v9/,
    ],
    [
      'an image that does not exist',
      makeSnapshot({ container: waiting('ErrImagePull', 'manifest unknown') }),
      'engine_startup',
      'provider_error',
      /can't be pulled: manifest unknown\.$/,
    ],
    [
      'a private image',
      makeSnapshot({ container: waiting('ImagePullBackOff', 'pull access denied') }),
      'engine_startup',
      'provider_error',
      /access denied/,
    ],
    [
      'a registry outage of more than 5 minutes',
      makeSnapshot({ created: 301, container: waiting('ImagePullBackOff', 'Back-off pulling image') }),
      'engine_startup',
      'provider_error',
      /can't be pulled/,
    ],
    [
      'an image that the registry refused before the back-off',
      makeSnapshot(
        { container: waiting('ImagePullBackOff', 'Back-off pulling image') },
        { events: pullEvents('rpc error: code = NotFound desc = v9: not found') },
      ),
      'engine_startup',
      'provider_error',
      /can't be pulled: rpc error: code = NotFound desc = v9: not found\.$/,
    ],
    [
      'a registry that refuses for more than 5 minutes',
      makeSnapshot(
        { created: 301, container: waiting('ImagePullBackOff', 'Back-off pulling image') },
        { events: pullEvents('toomanyrequests: You have reached your pull rate limit') },
      ),
      'engine_startup',
      'provider_error',
      /can't be pulled: toomanyrequests: You have reached your pull rate limit\.$/,
    ],
    [
      'a Secret that is never created',
      makeSnapshot({
        created: 61,
        container: waiting('CreateContainerConfigError', 'secret "dep-x" not found'),
      }),
      'engine_startup',
      'provider_error',
      /secret "dep-x" not found/,
    ],
    [
      "a volume that can't be mounted",
      makeSnapshot(
        { created: 301, container: waiting('ContainerCreating') },
        { events: [makeEvent('FailedMount', 'timed out')] },
      ),
      'engine_startup',
      'provider_error',
      /mounted: timed out\.$/,
    ],
    [
      'eviction',
      makeSnapshot({
        status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory. ' },
      }),
      'runtime',
      'instance_lost',
      /evicted from node node-1: The node was low on resource: memory\.$/,
    ],
    [
      'eviction of an engine that exits with 0',
      makeSnapshot(
        { container: { state: ended(0, 'Completed') }, status: { phase: 'Succeeded' } },
        { events: [makeEvent('Evicted', 'The node was low on resource: ephemeral-storage. ')] },
      ),
      'runtime',
      'instance_lost',
      /evicted from node node-1: The node was low on resource: ephemeral-storage\.$/,
    ],
    [
      'a pod that ended with exit code 0',
      makeSnapshot({ container: { state: ended(0, 'Completed') }, status: { phase: 'Succeeded' } }),
      'runtime',
      'instance_lost',
      /pod was stopped on node node-1\.$/,
    ],
    [
      'an evicted pod that is still stopping',
      makeSnapshot(
        { deleted: true, container: running },
        { events: [makeEvent('Evicted', 'The node had condition: [DiskPressure].')] },
      ),
      'runtime',
      'instance_lost',
      /evicted from node node-1: The node had condition: \[DiskPressure\]\.$/,
    ],
    [
      'an evicted pod beside its waiting replacement',
      {
        workload,
        pods: [
          { pod: makePod({ node: null, created: 1 }), events: [], lastLines: [] },
          {
            pod: makePod({ status: { phase: 'Succeeded' } }),
            events: [makeEvent('Evicted', 'Low on memory.')],
            lastLines: [],
          },
        ],
      },
      'runtime',
      'instance_lost',
      /evicted from node node-1: Low on memory\.$/,
    ],
    [
      'an engine that was stopped with exit code 0 again and again',
      makeSnapshot({ container: crashLoop(0) }),
      'model_launch',
      'engine_crashed',
      /exit code 0/,
    ],
    [
      'a node shutdown',
      makeSnapshot({
        status: {
          phase: 'Failed',
          reason: 'NodeShutdown',
          message: 'Pod was terminated in response to imminent node shutdown.',
        },
      }),
      'runtime',
      'instance_lost',
      /imminent node shutdown\.$/,
    ],
    [
      'a lost node, as new clusters report it',
      makeSnapshot({
        deleted: true,
        status: {
          conditions: [
            {
              type: 'DisruptionTarget',
              status: 'True',
              reason: 'DeletionByTaintManager',
              message: 'Taint manager: deleting due to NoExecute taint',
            },
          ],
        },
      }),
      'runtime',
      'instance_lost',
      /removed the engine's pod from node node-1: Taint manager/,
    ],
    [
      'a lost node, as old clusters report it',
      makeSnapshot(
        { deleted: true },
        { events: [makeEvent('TaintManagerEviction', 'Marking for deletion Pod berth/dep-x-1')] },
      ),
      'runtime',
      'instance_lost',
      /lost because node node-1 stopped responding\.$/,
    ],
    [
      'preemption',
      makeSnapshot({ deleted: true }, { events: [makeEvent('Preempted', 'by a/b on node node-1')] }),
      'runtime',
      'instance_lost',
      /higher priority/,
    ],
  ])('failed: %s', (_name, snapshot, stage, code, message) => {
    expect(evaluateEngine(snapshot, endpoint, timeouts)).toMatchObject({
      phase: 'failed',
      stage,
      code,
      message: expect.stringMatching(message),
    })
  })
})

describe('the time of a loss, when billing stops', () => {
  const unready = (seconds: number) => ({ type: 'Ready', status: 'False', lastTransitionTime: ago(seconds) })

  test.each<[string, EngineSnapshot, Date | undefined]>([
    [
      'the exit of an evicted engine',
      makeSnapshot({
        container: { state: { terminated: { exitCode: 0, finishedAt: ago(20) } } },
        status: { phase: 'Succeeded', conditions: [unready(15)] },
      }),
      ago(20),
    ],
    [
      'the last heartbeat of a silent node, 50 seconds before the pod became unready',
      makeSnapshot(
        { deleted: true, container: { ...running, started: true }, status: { conditions: [unready(60)] } },
        { events: [makeEvent('TaintManagerEviction', 'Marking for deletion Pod berth/dep-x-1')] },
      ),
      ago(110),
    ],
    [
      'when an evicted pod became unready, if its exit is unknown',
      makeSnapshot({ status: { phase: 'Failed', reason: 'Evicted', conditions: [unready(15)] } }),
      ago(15),
    ],
    ['unknown', makeSnapshot({ status: { phase: 'Failed', conditions: [] } }), undefined],
  ])('%s', (_name, snapshot, lostAt) => {
    expect(evaluateEngine(snapshot, endpoint, timeouts)).toMatchObject({
      phase: 'failed',
      code: 'instance_lost',
      ...(lostAt === undefined ? {} : { lostAt }),
    })
  })
})

describe('evaluateScheduling', () => {
  test('scheduled from the moment the last pod gets a node', () => {
    const at = (created: number) => ({
      pod: makePod({ created, node: `node-${created}` }),
      events: [],
      lastLines: [],
    })
    const snapshot = { workload: { ...workload, nodes: 2 }, pods: [at(10), at(20)] }
    expect(evaluateScheduling(snapshot, timeouts)).toEqual({ outcome: 'scheduled', at: ago(10) })
    expect(evaluateScheduling({ ...snapshot, pods: [at(10)] }, timeouts)).toMatchObject({
      outcome: 'pending',
    })
  })

  test('pending while its only pod is terminating', () => {
    expect(evaluateScheduling(makeSnapshot({ deleted: true }), timeouts)).toMatchObject({
      outcome: 'pending',
    })
  })

  test('refused when no node has capacity in time', () => {
    const snapshot = makeSnapshot({ node: null, created: 121, unschedulable: '0/1 nodes are available.' })
    expect(evaluateScheduling(snapshot, timeouts)).toMatchObject({ outcome: 'refused', code: 'no_capacity' })
  })
})
