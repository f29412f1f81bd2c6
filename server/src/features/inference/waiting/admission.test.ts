import { expect, test } from 'vitest'
import { createCircuitBreakers } from '../../../gateway/circuit-breakers.ts'
import { Admission } from './admission.ts'
import type { AdmissionRequest } from './admission.ts'
import type { EngineTarget } from '../targets/targets.ts'

const limits = {
  perUser: 4096,
  perInstance: 100,
  queuedPerUser: 1000,
  queueMilliseconds: 1000,
  turnMilliseconds: 1000,
}

function makeTarget(parallelSequences: number | null): EngineTarget {
  return {
    deploymentId: 'a',
    runtime: null as never,
    instanceId: 'a1',
    ownerId: 1,
    sharedWith: null,
    organizationId: 1,
    modelName: 'm',
    baseModelName: 'm',
    hasServed: true,
    loraId: null,
    alias: null,
    aliasOrder: null,
    fallsBack: false,
    modelType: 'LLM',
    format: 'ggufv2',
    engineProfiles: {},
    seesImages: false,
    adaptsRoles: false,
    counts: { inEvents: 'none', afterAbort: 'none' },
    engineTitle: 'The engine',
    routes: new Set(),
    ignoredFields: new Set(),
    cacheSalt: null,
    cacheOff: false,
    chatForm: null,
    lora: null,
    engineLoras: [],
    modelUid: 'dep-a',
    servedModelName: 'dep-a',
    status: 'running',
    failureReason: null,
    recovery: null,
    isWaking: false,
    cacheScope: 'organization',
    createdAt: new Date(0),
    engineUrl: 'http://127.0.0.1:1',
    contextTokens: 2048,
    parallelSequences,
    origin: 'http://127.0.0.1:1',
    basePath: '',
    authorization: null,
    keyHeader: null,
    isOutside: false,
  }
}

function makeRequest(
  target: EngineTarget,
  userId: number,
  admit: AdmissionRequest['admit'],
): AdmissionRequest {
  return {
    userId,
    asker: null as unknown as AdmissionRequest['asker'],
    model: 'm',
    afterOrder: 0,
    fallsBack: false,
    targets: [target],
    refusedBy: new Set(),
    promptTokens: 10,
    sequences: 1,
    isUse: true,
    hashPrefix: () => null,
    generatedTokens: () => 0,
    admit,
    onFull: () => {},
    fail: () => {},
  }
}

test('only requests that were a use make an instance used', () => {
  const admission = new Admission(limits, createCircuitBreakers())
  const target = makeTarget(1)
  const send = (isUse: boolean) => {
    const request = { ...makeRequest(target, 1, () => {}), isUse }
    admission.request(request)
    return () => admission.release(request, target)
  }
  const load = (inFlight: number, isUsed: boolean) => [{ instanceId: 'a1', inFlight, isUsed }]
  const end = send(true)
  expect(admission.takeLoads()).toEqual(load(1, false))
  send(false)()
  expect(admission.takeLoads()).toEqual(load(1, false))
  end()
  send(false)()
  expect(admission.takeLoads()).toEqual(load(0, true))
  send(false)()
  expect(admission.takeLoads()).toEqual(load(0, false))
  expect(admission.takeLoads()).toEqual([])
})

function countAdmitted(parallelSequences: number | null, sharedWith: 'organization' | null = null): number {
  const admission = new Admission(limits, createCircuitBreakers())
  let admitted = 0
  const target = { ...makeTarget(parallelSequences), sharedWith }
  for (let count = 0; count < 200; count += 1)
    admission.request(makeRequest(target, 1, () => (admitted += 1)))
  admission.close()
  return admitted
}

test('requests in flight follow the sequences of the engine, up to the configured limit', () => {
  expect(countAdmitted(1)).toBe(32)
  expect(countAdmitted(2)).toBe(64)
  expect(countAdmitted(256)).toBe(100)
  expect(countAdmitted(null)).toBe(100)
})

test('a shared deployment gets as many requests as its engine processes at the same time', () => {
  expect(countAdmitted(1, 'organization')).toBe(1)
  expect(countAdmitted(8, 'organization')).toBe(8)
  expect(countAdmitted(null, 'organization')).toBe(100)
})

test.each([1, 2, 5])(
  'a flood to a shared deployment delays each of %i other callers by at most one request of each caller',
  async (others) => {
    const admission = new Admission(limits, createCircuitBreakers())
    const target = { ...makeTarget(1), sharedWith: 'organization' as const }
    const admitted: AdmissionRequest[] = []
    const request = (userId: number) => {
      const made = makeRequest(target, userId, () => void admitted.push(made))
      admission.request(made)
    }
    for (let count = 0; count < 500; count += 1) request(0)
    for (let userId = 1; userId <= others; userId += 1) request(userId)
    const endNext = async () => {
      admission.release(admitted.at(-1)!, target)
      await Promise.resolve()
    }
    while (admitted.length < 33 + others) await endNext()
    for (let userId = 1; userId <= others; userId += 1) {
      expect(admitted.findIndex((each) => each.userId === userId)).toBeLessThanOrEqual(others + 1)
    }
    admission.close()
  },
)

test('requests with many choices delay a colleague by one of them, and get their turn among short ones', async () => {
  const admission = new Admission(limits, createCircuitBreakers())
  const target = { ...makeTarget(4), sharedWith: 'organization' as const }
  const admitted: AdmissionRequest[] = []
  const open = new Set<AdmissionRequest>()
  const request = (userId: number, sequences: number) => {
    const made = {
      ...makeRequest(target, userId, () => {
        admitted.push(made)
        open.add(made)
      }),
      sequences,
    }
    admission.request(made)
  }
  const end = async (ended: AdmissionRequest) => {
    open.delete(ended)
    admission.release(ended, target)
    await Promise.resolve()
  }
  for (let count = 0; count < 8; count += 1) request(1, 16)
  expect(open.size, 'one at a time').toBe(1)
  request(2, 1)
  await end(admitted[0]!)
  await end(admitted[1]!)
  expect(admitted.map(({ userId }) => userId).slice(0, 3)).toContain(2)
  // A colleague's constant short requests don't keep a wide one waiting.
  for (let count = 0; count < 20; count += 1) request(2, 1)
  const wide = () => admitted.filter(({ sequences }) => sequences === 16).length
  const before = wide()
  for (let count = 0; count < 8; count += 1) await end([...open][0]!)
  expect(wide()).toBeGreaterThan(before)
  admission.close()
})

test('a request that waits for its turn leaves the queue when its caller leaves', async () => {
  const admission = new Admission(limits, createCircuitBreakers())
  const target = { ...makeTarget(1), sharedWith: 'organization' as const }
  const admitted: number[] = []
  const [first, second, third] = [1, 2, 3].map((userId) =>
    makeRequest(target, userId, () => void admitted.push(userId)),
  )
  for (const request of [first!, second!, third!]) admission.request(request)
  admission.cancel(second!)
  expect(admission.queued).toBe(1)
  admission.release(first!, target)
  await Promise.resolve()
  expect(admitted).toEqual([1, 3])
  admission.close()
})

test('each instance of a deployment has its own limit', () => {
  const admission = new Admission({ ...limits, perInstance: 2 }, createCircuitBreakers())
  const targets = ['a1', 'a2'].map((instanceId) => ({ ...makeTarget(null), instanceId }))
  const admitted: string[] = []
  for (let count = 0; count < 5; count += 1) {
    const request = makeRequest(targets[0]!, 1, ({ instanceId }) => void admitted.push(instanceId))
    admission.request({ ...request, targets })
  }
  expect(admitted.toSorted()).toEqual(['a1', 'a1', 'a2', 'a2'])
  expect(admission.queued).toBe(1)
  admission.close()
})

test("a full queue of one user leaves room for another user's requests to the same deployment", () => {
  const admission = new Admission({ ...limits, perInstance: 1, queuedPerUser: 2 }, createCircuitBreakers())
  const target = { ...makeTarget(null), sharedWith: 'organization' as const }
  const rejected: number[] = []
  for (const userId of [1, 1, 1, 1, 1, 2]) {
    const request = makeRequest(target, userId, () => {})
    admission.request({ ...request, onFull: () => void rejected.push(userId) })
  }
  // A user may also have as many waiting as would be in flight at an unshared deployment.
  expect(rejected).toEqual([1])
  expect(admission.queued).toBe(4)
  admission.close()
})

test('requests in the queue go to a target that was added while they wait', () => {
  const admission = new Admission({ ...limits, perInstance: 2 }, createCircuitBreakers())
  const target = makeTarget(null)
  const admitted: string[] = []
  for (let count = 0; count < 5; count += 1) {
    admission.request(makeRequest(target, 1, ({ instanceId }) => void admitted.push(instanceId)))
  }
  expect(admitted).toEqual(['a1', 'a1'])
  for (const request of admission.waiting) request.targets = [target, { ...target, instanceId: 'a2' }]
  admission.retry()
  expect(admitted).toEqual(['a1', 'a1', 'a2', 'a2'])
  expect(admission.queued).toBe(1)
  admission.close()
})
