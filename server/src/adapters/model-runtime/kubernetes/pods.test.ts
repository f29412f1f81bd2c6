import { expect, test } from 'vitest'
import { evaluateEngine } from './observe.ts'
import { endpoint, makeSnapshot, timeouts, waiting } from './pod-fixtures.ts'

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
