import { describe, expect, test, vi } from 'vitest'
import type { InstanceType } from '../../src/ports/model-runtime.ts'
import type { Intercept } from './simulator/simulator.ts'
import { makeSpec } from '../adapters/local-runtime-support.ts'
import {
  l4,
  makeGpuVariant,
  makeWorker,
  openRuntime,
  openSimulator,
  provision,
  reach,
  tiny,
} from './support.ts'

const user = { username: 'berth', password: 'open sesame' }
const gpuVariant = makeGpuVariant()
const oneGpu = { instanceType: 'xinference-1x23g', gpuCount: 1 }

describe('the sign-in', () => {
  test.each(['2.11.0', '3.2.1'])(
    '%s: once for many requests at a time, and again after a 401',
    async (version) => {
      const simulator = await openSimulator({ version, user })
      const runtime = await openRuntime([simulator], { credentials: user })
      await Promise.all([runtime.listOffers(), runtime.listDeploymentIds(), runtime.listOffers()])
      expect(simulator.sessions.counts).toEqual({ signIns: 1, refreshes: 0 })
      simulator.sessions.expire()
      await Promise.all([runtime.listOffers(), runtime.listDeploymentIds(), runtime.listOffers()])
      const refreshed = { signIns: 1, refreshes: 1 }
      expect(simulator.sessions.counts).toEqual(
        version === '3.2.1' ? refreshed : { signIns: 2, refreshes: 0 },
      )
    },
  )

  test('a supervisor that started again knows no refresh token either', async () => {
    const simulator = await openSimulator({ user })
    const runtime = await openRuntime([simulator], { credentials: user })
    await runtime.listOffers()
    simulator.sessions.reset()
    await runtime.listOffers()
    expect(simulator.sessions.counts).toEqual({ signIns: 2, refreshes: 1 })
  })

  test('the same header for inference until it is refused; none where none is asked for', async () => {
    const simulator = await openSimulator({ user })
    const openOne = await openSimulator()
    const runtime = await openRuntime([simulator, openOne], { credentials: user })
    const header = await runtime.authorizeEngine?.(simulator.url)
    expect(header).toMatch(/^Bearer \S+$/)
    expect(await runtime.authorizeEngine?.(simulator.url)).toBe(header)
    expect(await runtime.authorizeEngine?.(simulator.url, header)).not.toBe(header)
    expect(await runtime.authorizeEngine?.(openOne.url)).toBeNull()
    expect(await runtime.authorizeEngine?.('http://127.0.0.1:9')).toBeNull()
  })

  test('a wrong password, or none: said, and not tried again at once', async () => {
    const simulator = await openSimulator({ user })
    const wrong = await openRuntime([simulator], { credentials: { ...user, password: 'x' } })
    await expect(wrong.listOffers()).rejects.toThrow("did not accept Berth's user")
    await expect(wrong.listOffers()).rejects.toThrow("did not accept Berth's user")
    expect(simulator.sessions.counts.signIns).toBe(1)
    const none = await openRuntime([simulator])
    await expect(none.listOffers()).rejects.toThrow('Berth was given no user')
  })
})

describe('answers that make no sense are faults that pass', () => {
  const answers: [string, Intercept][] = [
    ['HTML', () => ({ status: 200, body: '<html>' })],
    ['other JSON', () => ({ status: 200, body: { hello: ['world'] } })],
    ['null', () => ({ status: 200, body: null })],
    ['a plain 500', () => ({ status: 500, body: 'Internal Server Error' })],
    ["a proxy's 502", () => ({ status: 502, body: '<html>Bad Gateway' })],
    ['429', () => ({ status: 429, body: { detail: 'IP banned' } })],
    ['a redirect', () => ({ status: 302, headers: { location: 'http://127.0.0.1:9/' } })],
    ['too much', () => ({ status: 200, body: JSON.stringify(['x'.repeat(9 * 2 ** 20)]) })],
    ['nothing at all', () => 'hang'],
  ]
  test.each(answers)('%s', async (_name, intercept) => {
    const simulator = await openSimulator()
    const runtime = await openRuntime([simulator], { answerTimeoutMs: 300 })
    const spec = await provision(runtime)
    await reach(() => runtime.ensureEngine(spec), 'ready')
    simulator.intercept = intercept
    await expect(runtime.listOffers()).rejects.toThrow()
    await expect(runtime.provision(makeSpec(tiny))).rejects.toThrow()
    await expect(runtime.release(spec.deploymentId, spec.clusterId)).rejects.toThrow()
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'unreachable' })
    expect(await runtime.readLogs(spec.deploymentId, 10)).toEqual([])
    simulator.intercept = null
    expect(await runtime.observeEngine(spec.deploymentId, spec.clusterId)).toMatchObject({ phase: 'ready' })
  })

  test('a launch that ends in a plain 500 is tried again', async () => {
    const simulator = await openSimulator()
    const runtime = await openRuntime([simulator])
    const spec = await provision(runtime)
    simulator.intercept = ({ method }) =>
      method === 'POST' ? { status: 500, body: 'Internal Server Error' } : undefined
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'unreachable' })
    simulator.intercept = null
    await reach(() => runtime.ensureEngine(spec), 'ready')
  })
})

test('a supervisor that is gone and comes back: since when is told, nothing is launched twice', async () => {
  const simulator = await openSimulator()
  const runtime = await openRuntime([simulator])
  const spec = await provision(runtime)
  await reach(() => runtime.ensureEngine(spec), 'ready')
  await simulator.goAway()
  const first = await reach(() => runtime.observeEngine(spec.deploymentId, spec.clusterId), 'unreachable')
  const second = await reach(() => runtime.observeEngine(spec.deploymentId, spec.clusterId), 'unreachable')
  expect(second.since).toEqual(first.since)
  expect(first.message).toContain(new URL(simulator.url).host)
  await simulator.comeBack()
  await reach(() => runtime.ensureEngine(spec), 'ready')
  expect(simulator.calls.filter((call) => call === 'POST /v1/models')).toHaveLength(1)
})

test('a supervisor that starts again has forgotten its models: absent, and launched anew', async () => {
  const simulator = await openSimulator()
  const runtime = await openRuntime([simulator])
  const spec = await provision(runtime)
  await reach(() => runtime.ensureEngine(spec), 'ready')
  await simulator.restart()
  expect(await runtime.observeEngine(spec.deploymentId, spec.clusterId)).toEqual({ phase: 'absent' })
  await reach(() => runtime.ensureEngine(spec), 'ready')
})

test('a cluster without a worker is waited for', async () => {
  const simulator = await openSimulator()
  const runtime = await openRuntime([simulator])
  const spec = await provision(runtime)
  const workers = simulator.workers.splice(0)
  await expect(runtime.listOffers()).rejects.toThrow('has a worker')
  await expect(runtime.provision(makeSpec(tiny))).rejects.toThrow('has a worker')
  expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'unreachable' })
  simulator.workers.push(...workers)
  await reach(() => runtime.ensureEngine(spec), 'ready')
})

test('an instance that is ready and a model that is not: gone after a while', async () => {
  const simulator = await openSimulator()
  const runtime = await openRuntime([simulator], { stallMs: 50 })
  const spec = await provision(runtime)
  await reach(() => runtime.ensureEngine(spec), 'ready')
  simulator.intercept = ({ path }) =>
    path === `/v1/models/${spec.modelUid}` ? { status: 400, body: { detail: 'Model not found' } } : undefined
  expect(await runtime.observeEngine(spec.deploymentId, spec.clusterId)).toMatchObject({ phase: 'starting' })
  await reach(() => runtime.observeEngine(spec.deploymentId, spec.clusterId), 'absent')
})

describe('a worker that dies under its model', () => {
  async function loseWorker() {
    const simulator = await openSimulator({ workers: [makeWorker('10.0.0.7', 1), makeWorker('10.0.0.8', 1)] })
    const runtime = await openRuntime([simulator], { stallMs: 50 })
    const spec = await provision(runtime, gpuVariant, oneGpu)
    await reach(() => runtime.ensureEngine(spec), 'ready')
    const { worker } = simulator.models.get(spec.modelUid)!
    simulator.loseWorker(worker)
    await reach(() => runtime.observeEngine(spec.deploymentId, spec.clusterId), 'absent')
    return { simulator, runtime, spec, worker }
  }

  test('the model can be ended, and is launched on another', async () => {
    const { simulator, runtime, spec, worker } = await loseWorker()
    expect(await runtime.stopEngine(spec.deploymentId, spec.clusterId)).toBe(true)
    await reach(() => runtime.ensureEngine(spec), 'ready')
    const again = simulator.models.get(spec.modelUid)!
    expect(again.worker).not.toBe(worker)
    expect(await runtime.listDeploymentIds()).toEqual([spec.deploymentId])
  })

  test('the deployment can be released, and nothing is held any longer', async () => {
    const { simulator, runtime, spec } = await loseWorker()
    expect(await runtime.release(spec.deploymentId, spec.clusterId)).toBe(true)
    await vi.waitFor(async () => expect(await runtime.listDeploymentIds()).toEqual([]), 10_000)
    const restarted = await openRuntime([simulator])
    expect(await restarted.release(spec.deploymentId), 'asked again').toBe(true)
  })
})

test.each([
  ['1.4.1', false],
  ['0.16.3', false],
  ['1.5.0', true],
  ['0+unknown', true],
])('version %s', async (version, isFit) => {
  const simulator = await openSimulator({ version })
  const runtime = await openRuntime([simulator])
  const offers = runtime.listOffers()
  if (isFit) expect(await offers).toHaveLength(1)
  else await expect(offers).rejects.toThrow(`runs Xinference ${version}`)
})

describe('several supervisors', () => {
  test('a model is found without being told where it is, as after a restart of Berth', async () => {
    const [one, two] = [await openSimulator(), await openSimulator()]
    const runtime = await openRuntime([two])
    const spec = await provision(runtime)
    await reach(() => runtime.ensureEngine(spec), 'ready')
    const other = await openRuntime([one, two])
    expect(await other.observeEngine(spec.deploymentId)).toMatchObject({ endpoint: { baseUrl: two.url } })
    expect(await other.listDeploymentIds()).toEqual([spec.deploymentId])
    const third = await openRuntime([one, two])
    await vi.waitUntil(() => third.release(spec.deploymentId))
    expect(two.models.get(spec.modelUid)?.status).toBe('TERMINATED')
  })

  test('one that is gone keeps nobody from using the others', async () => {
    const [gone, there] = [await openSimulator(), await openSimulator()]
    await gone.goAway()
    const runtime = await openRuntime([gone, there])
    const spec = await provision(runtime)
    expect(spec.clusterId).toBe(there.url)
    await reach(() => runtime.ensureEngine(spec), 'ready')
    const restarted = await openRuntime([gone, there])
    await vi.waitUntil(() => restarted.release(spec.deploymentId, spec.clusterId))
    const nowhere = makeSpec(tiny)
    await expect(restarted.release(nowhere.deploymentId), 'may be on the one that is gone').rejects.toThrow()
    await expect(restarted.release(nowhere.deploymentId, gone.url)).rejects.toThrow()
  })

  test('one that was taken out of the settings', async () => {
    const [removed, there] = [await openSimulator(), await openSimulator()]
    const runtime = await openRuntime([removed])
    const spec = await provision(runtime)
    const other = await openRuntime([there])
    expect(await other.ensureEngine(spec)).toMatchObject({ phase: 'failed', code: 'instance_lost' })
    expect(await other.release(spec.deploymentId, spec.clusterId)).toBe(true)
  })
})

describe('offers and room', () => {
  const l4Type: InstanceType = {
    name: 'l4-x1',
    region: 'here',
    vendor: 'nvidia',
    gpuModel: 'NVIDIA L4',
    gpuCount: 1,
    gpuMemoryBytes: 22.5 * 2 ** 30,
    computeCapability: 8.9,
    pricePerHour: '0.80',
    nodeSelector: {},
    tolerations: [],
  }

  test('by GPUs of a host, under the name of the instance type file where that has one', async () => {
    const workers = [makeWorker('10.0.0.7', 3), { ip: '10.0.0.8', gpus: [], memoryBytes: 10 * 2 ** 30 }]
    const simulator = await openSimulator({ workers })
    const runtime = await openRuntime([simulator], { instanceTypes: [l4Type] })
    const offers = await runtime.listOffers()
    expect(offers.map(({ instanceType, region, gpuCount }) => [instanceType, region, gpuCount])).toEqual([
      ['l4-x1', 'here', 1],
      ['xinference-2x23g', 'xinference', 2],
      ['xinference-cpu', 'xinference', 0],
    ])
    expect(offers[0]).toMatchObject({ gpuModel: l4.name, vendor: 'nvidia', computeCapability: 8.9 })
    expect(offers[1]?.memoryBytes).toBe(Math.floor(2 * l4.memoryBytes * 0.9))
    expect(offers[2]).toMatchObject({ memoryBytes: 9 * 2 ** 30, formats: ['ggufv2'] })
  })

  test('a GPU is promised once, is free again after its deployment, and not while its memory is taken', async () => {
    const simulator = await openSimulator({ workers: [makeWorker('10.0.0.7', 2)] })
    const runtime = await openRuntime([simulator])
    const refusal = { outcome: 'refused', code: 'no_capacity' }
    const specs = [await provision(runtime, gpuVariant, oneGpu), await provision(runtime, gpuVariant, oneGpu)]
    const third = makeSpec(gpuVariant, oneGpu)
    expect(await runtime.provision(third)).toMatchObject(refusal)
    expect(await runtime.provision(specs[0]!), 'the one that has it finds it').toMatchObject({
      outcome: 'provisioned',
    })
    for (const spec of specs) await reach(() => runtime.ensureEngine(spec), 'ready')
    const restarted = await openRuntime([simulator])
    await vi.waitFor(async () => expect(await restarted.provision(third)).toMatchObject(refusal))
    await vi.waitUntil(() => runtime.release(specs[0]!.deploymentId, specs[0]!.clusterId))
    simulator.occupied.add('10.0.0.7/0').add('10.0.0.7/1')
    expect(await runtime.provision(third)).toMatchObject(refusal)
    simulator.occupied.clear()
    await vi.waitFor(
      async () => expect(await runtime.provision(third)).toMatchObject({ outcome: 'provisioned' }),
      10_000,
    )
  })

  test('an instance type that no host has, and a host without memory', async () => {
    const simulator = await openSimulator()
    const runtime = await openRuntime([simulator])
    const refusal = { outcome: 'refused', code: 'no_capacity' }
    expect(await runtime.provision(makeSpec(gpuVariant, oneGpu))).toMatchObject(refusal)
    const large = { instanceType: 'xinference-cpu', memoryBytes: 17 * 2 ** 30 }
    expect(await runtime.provision(makeSpec(tiny, large))).toMatchObject(refusal)
  })
})
