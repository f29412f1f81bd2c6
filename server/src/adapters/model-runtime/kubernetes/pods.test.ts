import { expect, test } from 'vitest'
import { evaluateEngine } from './observe.ts'
import {
  ago,
  endpoint,
  makeEvent,
  makeSnapshot,
  running,
  timeouts,
  waiting,
} from '../../../../test/support/pods.ts'

test('the image of the container that prepares the weights cannot be pulled: recorded from Kubernetes 1.20', () => {
  const message =
    'rpc error: code = Unknown desc = failed to pull and unpack image "r/llama-server:none": r/llama-server:none: not found'
  const initContainerStatuses = [
    { name: 'weights', image: 'r/llama-server:none', ...waiting('ErrImagePull', message) },
  ]
  const snapshot = makeSnapshot({
    container: waiting('PodInitializing'),
    status: { initContainerStatuses },
  })
  expect(evaluateEngine(snapshot, endpoint, timeouts)).toMatchObject({
    phase: 'failed',
    code: 'provider_error',
    message: expect.stringMatching(/^The image r\/llama-server:none can't be pulled: .*not found\.$/),
  })
})

test('a silent node is named as the reason: recorded from Kubernetes 1.36', () => {
  const snapshot = makeSnapshot(
    {
      deleted: true,
      container: running,
      status: {
        phase: 'Running',
        conditions: [
          { type: 'Ready', status: 'False', lastTransitionTime: ago(70) },
          {
            type: 'DisruptionTarget',
            status: 'True',
            reason: 'DeletionByTaintManager',
            message: 'Taint manager: deleting due to NoExecute taint',
            lastTransitionTime: ago(10),
          },
        ],
      },
    },
    {
      events: [
        makeEvent('NodeNotReady', 'Node is not ready'),
        makeEvent('TaintManagerEviction', 'Marking for deletion Pod berth/dep-x-1'),
      ],
    },
  )
  expect(evaluateEngine(snapshot, endpoint, timeouts)).toMatchObject({
    code: 'instance_lost',
    message: 'The engine was lost because node node-1 stopped responding.',
    lostAt: ago(120),
  })
})
