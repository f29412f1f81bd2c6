import { expect, test } from 'vitest'
import { createCircuitBreakers } from '../../gateway/circuit-breakers.ts'
import { createAdmission } from './admission.ts'
import type { EngineTarget } from './targets.ts'

const limits = { perUser: 4096, perDeployment: 100, queued: 1000, queueMilliseconds: 1000 }

function makeTarget(parallelSequences: number | null): EngineTarget {
  return {
    deploymentId: 'a',
    ownerId: 1,
    sharedWith: null,
    organizationId: 1,
    modelName: 'm',
    alias: null,
    modelType: 'LLM',
    format: 'ggufv2',
    counts: { inEvents: 'none', afterAbort: 'none' },
    modelUid: 'dep-a',
    status: 'running',
    failureReason: null,
    createdAt: new Date(0),
    engineUrl: 'http://127.0.0.1:1',
    contextTokens: 2048,
    parallelSequences,
    origin: 'http://127.0.0.1:1',
    basePath: '',
    authorization: null,
  }
}

function countAdmitted(parallelSequences: number | null): number {
  const admission = createAdmission(limits, createCircuitBreakers())
  let admitted = 0
  for (let count = 0; count < 200; count += 1) {
    admission.request({
      userId: 1,
      targets: [makeTarget(parallelSequences)],
      refusedBy: new Set(),
      admit: () => (admitted += 1),
      reject: () => {},
    })
  }
  admission.close()
  return admitted
}

test('requests in flight follow the sequences of the engine, up to the configured limit', () => {
  expect(countAdmitted(1)).toBe(32)
  expect(countAdmitted(2)).toBe(64)
  expect(countAdmitted(256)).toBe(100)
  expect(countAdmitted(null)).toBe(100)
})

test.each([1, 2, 5])(
  'a flood to a shared deployment delays each of %i other callers by at most one request of each caller',
  (others) => {
    const admission = createAdmission({ ...limits, perDeployment: 1 }, createCircuitBreakers())
    const targets = [{ ...makeTarget(null), sharedWith: 'organization' as const }]
    const admitted: number[] = []
    const request = (userId: number) =>
      admission.request({
        userId,
        targets,
        refusedBy: new Set(),
        admit: () => void admitted.push(userId),
        reject: () => {},
      })
    for (let count = 0; count < 500; count += 1) request(0)
    for (let userId = 1; userId <= others; userId += 1) request(userId)
    while (admitted.length < 501 + others - 1) admission.release(admitted.at(-1)!, 'a')
    for (let userId = 1; userId <= others; userId += 1) {
      expect(admitted.indexOf(userId)).toBeLessThanOrEqual(others + 1)
    }
    expect(admission.queued()).toBe(0)
    admission.close()
  },
)
