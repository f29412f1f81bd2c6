import { describe, expect, test } from 'vitest'
import { judgeEngine, judgeProvisioning } from './observe.ts'
import type { Sight } from './observe.ts'
import {
  ago,
  endpoint,
  ended,
  makeEvent,
  makePod,
  patience,
  ready,
  running,
  see,
  waiting,
  workload,
} from './recorded-pods.ts'

describe('what an engine is seen as', () => {
  test('without a workload, or with one that was stopped, it is absent', () => {
    expect(judgeEngine({ workload: null, pods: [] }, endpoint, patience)).toEqual({ phase: 'absent' })
    const stopped = { workload: { ...workload, replicas: 0 }, pods: [] }
    expect(judgeEngine(stopped, endpoint, patience)).toEqual({ phase: 'absent' })
  })

  test('it is ready when its workload or all its pods are', () => {
    const answer = { phase: 'ready', endpoint }
    expect(judgeEngine({ workload: { ...workload, isReady: true }, pods: [] }, endpoint, patience)).toEqual(
      answer,
    )
    const sight = see({ container: running, status: ready })
    expect(judgeEngine(sight, endpoint, patience)).toEqual(answer)
    const half = { ...sight, workload: { ...workload, nodes: 2 } }
    expect(judgeEngine(half, endpoint, patience)).toMatchObject({ phase: 'starting' })
  })

  test.each<[string, Sight, string | RegExp]>([
    ['no pod yet', { workload, pods: [] }, "The engine's pod is being made."],
    ['not looked at by the scheduler', see({ node: null, created: 1 }), "The engine's pod waits for a node."],
    [
      'no node for a while',
      see({
        node: null,
        created: 30,
        unschedulable: '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.',
      }),
      'It waits for a node: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.',
    ],
    [
      'no node for long, but the autoscaler adds one',
      see(
        { node: null, created: 300, unschedulable: '0/3 nodes are available.' },
        { events: [makeEvent('TriggeredScaleUp', 'pod triggered scale-up')] },
      ),
      /^It waits for a node/,
    ],
    ['image on its way', see({ container: waiting('ContainerCreating') }), /^Node node-1 is preparing/],
    [
      'a registry that fails for a moment',
      see({ container: waiting('ErrImagePull', 'i/o timeout') }),
      /i\/o timeout/,
    ],
    [
      'its Secret is not there yet',
      see({ created: 5, container: waiting('CreateContainerConfigError') }),
      /waits on/,
    ],
    ['running', see({ container: running }), 'The engine is downloading and loading the model.'],
    [
      'not answering for a moment',
      see({ container: { ...running, started: true } }),
      'The engine does not answer its health check at the moment.',
    ],
    [
      'ended once for no known reason',
      see({ container: { restartCount: 0, state: ended(1) } }, { lastWords: ['oops'] }),
      'The engine ended with exit code 1 and is started again.',
    ],
    [
      'a download that broke once',
      see(
        { container: { restartCount: 1, ...running, lastState: ended(1) } },
        { lastWords: ['Max retries exceeded'] },
      ),
      'The engine is downloading and loading the model.',
    ],
    [
      "a lost pod's place was taken by one that ran",
      {
        workload,
        pods: [
          { pod: makePod({ container: { ...running, started: true } }), events: [], lastWords: [] },
          { pod: makePod({ status: { phase: 'Failed', reason: 'Evicted' } }), events: [], lastWords: [] },
        ],
      },
      /does not answer/,
    ],
  ])('%s: it is starting', (_name, sight, message) => {
    const seen = judgeEngine(sight, endpoint, patience)
    expect(seen).toEqual({
      phase: 'starting',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    })
  })

  test.each<[string, Sight, string, string, RegExp]>([
    [
      'no room on any node',
      see({
        node: null,
        created: 121,
        unschedulable: '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.',
      }),
      'provisioning',
      'no_capacity',
      /^No node had room for it within 120 seconds: 0\/3 nodes are available: 3 Insufficient nvidia\.com\/gpu\.$/,
    ],
    [
      'no node of the kind',
      see({
        node: null,
        created: 121,
        unschedulable: "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
      }),
      'provisioning',
      'no_capacity',
      /node affinity\/selector\.$/,
    ],
    [
      'no such volume claim',
      see({
        node: null,
        created: 2,
        unschedulable: '0/3 nodes are available: persistentvolumeclaim "weights" not found.',
      }),
      'provisioning',
      'provider_error',
      /claim .* is missing.*"weights"/,
    ],
    [
      'quota',
      {
        workload: {
          ...workload,
          refusals: [
            'pods "dep-x-1" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=4, limited: requests.nvidia.com/gpu=4',
          ],
        },
        pods: [],
      },
      'provisioning',
      'quota_exceeded',
      /^The namespace's quota leaves no room for it: exceeded quota: gpus/,
    ],
    [
      'an admission policy',
      {
        workload: {
          ...workload,
          refusals: ['pods "dep-x-1" is forbidden: violates PodSecurity "restricted:latest"'],
        },
        pods: [],
      },
      'provisioning',
      'provider_error',
      /violates PodSecurity/,
    ],
    [
      'a wrong image name',
      see({ container: waiting('InvalidImageName', "couldn't parse") }),
      'engine_startup',
      'provider_error',
      /vllm\/vllm-openai:v9/,
    ],
    [
      'no such image',
      see({ container: waiting('ErrImagePull', 'manifest unknown') }),
      'engine_startup',
      'provider_error',
      /can't be pulled: manifest unknown\.$/,
    ],
    [
      'a private image',
      see({ container: waiting('ImagePullBackOff', 'pull access denied') }),
      'engine_startup',
      'provider_error',
      /access denied/,
    ],
    [
      'a registry that fails for long',
      see({ created: 301, container: waiting('ImagePullBackOff', 'Back-off pulling image') }),
      'engine_startup',
      'provider_error',
      /can't be pulled/,
    ],
    [
      'its Secret never comes',
      see({ created: 61, container: waiting('CreateContainerConfigError', 'secret "dep-x" not found') }),
      'engine_startup',
      'provider_error',
      /secret "dep-x" not found/,
    ],
    [
      'a volume that is not mounted',
      see(
        { created: 301, container: waiting('ContainerCreating') },
        { events: [makeEvent('FailedMount', 'timed out')] },
      ),
      'engine_startup',
      'provider_error',
      /mounted: timed out\.$/,
    ],
    [
      'eviction',
      see({
        status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory. ' },
      }),
      'runtime',
      'instance_lost',
      /evicted from node node-1: The node was low on resource: memory\.$/,
    ],
    [
      'a node that went down',
      see({
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
      'a node that is lost, as new clusters say it',
      see({
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
      /taken from node node-1: Taint manager/,
    ],
    [
      'a node that is lost, as old ones do',
      see(
        { deleted: true },
        { events: [makeEvent('TaintManagerEviction', 'Marking for deletion Pod berth/dep-x-1')] },
      ),
      'runtime',
      'instance_lost',
      /lost with node node-1, which no longer answers\.$/,
    ],
    [
      'preemption',
      see({ deleted: true }, { events: [makeEvent('Preempted', 'by a/b on node node-1')] }),
      'runtime',
      'instance_lost',
      /higher priority/,
    ],
  ])('%s: the right stage, code and sentence', (_name, sight, stage, code, message) => {
    expect(judgeEngine(sight, endpoint, patience)).toEqual({
      phase: 'failed',
      stage,
      code,
      message: expect.stringMatching(message),
    })
  })
})

describe('whether an instance is there', () => {
  test('from the moment that its last pod has a node', () => {
    const at = (created: number) => ({
      pod: makePod({ created, node: `node-${created}` }),
      events: [],
      lastWords: [],
    })
    const sight = { workload: { ...workload, nodes: 2 }, pods: [at(10), at(20)] }
    expect(judgeProvisioning(sight, patience)).toEqual({
      outcome: 'scheduled',
      at: ago(10),
      podName: 'dep-x-1',
      nodeName: 'node-10, node-20',
    })
    expect(judgeProvisioning({ ...sight, pods: [at(10)] }, patience)).toMatchObject({ outcome: 'pending' })
  })

  test('not while its only pod is on its way out', () => {
    expect(judgeProvisioning(see({ deleted: true }), patience)).toMatchObject({ outcome: 'pending' })
  })

  test('never, where there is no room', () => {
    const sight = see({ node: null, created: 121, unschedulable: '0/1 nodes are available.' })
    expect(judgeProvisioning(sight, patience)).toMatchObject({ outcome: 'refused', code: 'no_capacity' })
  })
})
