import { describe, expect, test, vi } from 'vitest'
import { nameAddress } from '../../src/adapters/model-runtime/xinference/names.ts'
import type { InstanceType } from '../../src/ports/model-runtime.ts'
import type { Intercept, SimulatedResponse, XinferenceSimulator } from './simulator/simulator.ts'
import { makeSpec } from '../adapters/local-runtime-support.ts'
import {
  l4,
  makeGpuVariant,
  makeWorker,
  openRuntime,
  openSimulator,
  provision,
  waitForPhase,
  tiny,
} from './support.ts'

const user = { username: 'berth', password: 'open sesame' }
const gpuVariant = makeGpuVariant()
const oneGpu = { instanceType: 'xinference-1x23g', gpuCount: 1 }

describe('sign-in', () => {
  test.each(['2.12.0', '4.1.0'])(
    '%s: once for concurrent requests, and again after a 401',
    async (version) => {
      const simulator = await openSimulator({ version, user })
      const runtime = await openRuntime([simulator], { credentials: user })
      await Promise.all([runtime.listOffers(), runtime.listEngineIds(), runtime.listOffers()])
      expect(simulator.tokens.counts).toEqual({ signIns: 1, refreshes: 0 })
      simulator.tokens.expire()
      await Promise.all([runtime.listOffers(), runtime.listEngineIds(), runtime.listOffers()])
      const refreshed = { signIns: 1, refreshes: 1 }
      expect(simulator.tokens.counts).toEqual(version === '4.1.0' ? refreshed : { signIns: 2, refreshes: 0 })
    },
  )

  test('a restarted supervisor rejects the refresh token too', async () => {
    const simulator = await openSimulator({ user })
    const runtime = await openRuntime([simulator], { credentials: user })
    await runtime.listOffers()
    simulator.tokens.reset()
    await runtime.listOffers()
    expect(simulator.tokens.counts).toEqual({ signIns: 2, refreshes: 1 })
  })

  test('authorizeEngine: the same header until it is refused; null if no sign-in is required', async () => {
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

  test('a wrong or missing password: reported, and not retried immediately', async () => {
    const simulator = await openSimulator({ user })
    const wrong = await openRuntime([simulator], { credentials: { ...user, password: 'x' } })
    await expect(wrong.listOffers()).rejects.toThrow("rejected Berth's user")
    await expect(wrong.listOffers()).rejects.toThrow("rejected Berth's user")
    expect(simulator.tokens.counts.signIns).toBe(1)
    const none = await openRuntime([simulator])
    await expect(none.listOffers()).rejects.toThrow('requires a sign-in. Add user and password')
  })
})

describe('an invalid response is a transient error', () => {
  const answers: [string, Intercept][] = [
    ['HTML', () => ({ status: 200, body: '<html>' })],
    ['other JSON', () => ({ status: 200, body: { hello: ['world'] } })],
    ['null', () => ({ status: 200, body: null })],
    ['a plain 500', () => ({ status: 500, body: 'Internal Server Error' })],
    ["a proxy's 502", () => ({ status: 502, body: '<html>Bad Gateway' })],
    ['429', () => ({ status: 429, body: { detail: 'IP banned' } })],
    ['a redirect', () => ({ status: 302, headers: { location: 'http://127.0.0.1:9/' } })],
    ['an oversized body', () => ({ status: 200, body: JSON.stringify(['x'.repeat(9 * 2 ** 20)]) })],
    ['no response', () => 'hang'],
  ]
  test.each(answers)('%s', async (_name, intercept) => {
    const simulator = await openSimulator()
    const runtime = await openRuntime([simulator], { responseTimeoutMs: 300 })
    const spec = await provision(runtime)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    simulator.intercept = intercept
    await expect(runtime.listOffers()).rejects.toThrow()
    await expect(runtime.provision(makeSpec(tiny))).rejects.toThrow()
    await expect(runtime.release(spec.engineId, spec.clusterId)).rejects.toThrow()
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'unreachable' })
    expect(await runtime.logs.read(spec.engineId, 10)).toEqual([])
    simulator.intercept = null
    expect(await runtime.observeEngine(spec.engineId, spec.clusterId)).toMatchObject({ phase: 'ready' })
  })

  test('a launch answered with a plain 500 is retried', async () => {
    const simulator = await openSimulator()
    const runtime = await openRuntime([simulator])
    const spec = await provision(runtime)
    simulator.intercept = ({ method }) =>
      method === 'POST' ? { status: 500, body: 'Internal Server Error' } : undefined
    expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'unreachable' })
    simulator.intercept = null
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
  })
})

test('an unreachable supervisor: nothing is launched twice', async () => {
  const simulator = await openSimulator()
  const runtime = await openRuntime([simulator])
  const spec = await provision(runtime)
  await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
  await simulator.stopListening()
  const first = await waitForPhase(() => runtime.observeEngine(spec.engineId, spec.clusterId), 'unreachable')
  expect(first.message).toContain(spec.clusterId)
  expect(first.message, 'no address').not.toContain(new URL(simulator.url).host)
  await simulator.startListening()
  await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
  expect(simulator.calls.filter((call) => call === 'POST /v1/models')).toHaveLength(1)
})

test('a restarted supervisor that records requests for a lost model as its errors: absent, then launched again', async () => {
  const simulator = await openSimulator()
  const runtime = await openRuntime([simulator])
  const spec = await provision(runtime)
  await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
  await simulator.restart()
  const content = `Model not found in the model list, uid: ${spec.modelUid}. Available model uids: []`
  const event = { event_type: 'ERROR', event_ts: Date.now() / 1000, event_content: content }
  simulator.intercept = ({ path }) => (path.endsWith('/events') ? { status: 200, body: [event] } : undefined)
  expect(await runtime.observeEngine(spec.engineId, spec.clusterId)).toMatchObject({ phase: 'absent' })
  await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
})

test('a restarted supervisor has lost its models: absent, then launched again', async () => {
  const simulator = await openSimulator()
  const runtime = await openRuntime([simulator])
  const spec = await provision(runtime)
  await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
  await simulator.restart()
  expect(await runtime.observeEngine(spec.engineId, spec.clusterId)).toMatchObject({ phase: 'absent' })
  await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
})

test('a supervisor that has just started: its models are unknown until the workers have reported them', async () => {
  const simulator = await openSimulator()
  const runtime = await openRuntime([simulator])
  const spec = await provision(runtime)
  await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
  const models = [...simulator.models]
  simulator.models.clear()
  simulator.uptime = 3
  const restarted = await openRuntime([simulator])
  for (const each of [runtime, restarted]) {
    expect(await each.observeEngine(spec.engineId, spec.clusterId)).toMatchObject({
      phase: 'unreachable',
      message: expect.stringContaining('has just started'),
    })
    await expect(each.release(spec.engineId, spec.clusterId)).rejects.toThrow('has just started')
  }
  for (const [uid, model] of models) simulator.models.set(uid, model)
  expect(await runtime.observeEngine(spec.engineId, spec.clusterId)).toMatchObject({ phase: 'ready' })
  simulator.uptime = 60
  await vi.waitUntil(() => runtime.release(spec.engineId, spec.clusterId))
  expect(await runtime.listEngineIds()).toEqual([])
})

test('a worker that has just joined offers nothing until it has reported its resources', async () => {
  const worker = { ip: '10.0.0.8', gpus: [], memoryBytes: 0 }
  const simulator = await openSimulator({ workers: [worker] })
  const runtime = await openRuntime([simulator])
  await expect(runtime.listOffers()).rejects.toThrow('no reachable Xinference cluster has a worker')
  worker.memoryBytes = 8 * 2 ** 30
  expect(await runtime.listOffers()).toMatchObject([{ instanceType: 'xinference-cpu' }])
})

test('a cluster without a worker: unreachable until a worker joins', async () => {
  const simulator = await openSimulator()
  const runtime = await openRuntime([simulator])
  const spec = await provision(runtime)
  const workers = simulator.workers.splice(0)
  await expect(runtime.listOffers()).rejects.toThrow('has a worker')
  await expect(runtime.provision(makeSpec(tiny))).rejects.toThrow('has a worker')
  expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'unreachable' })
  simulator.workers.push(...workers)
  await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
})

test('a READY instance without a model: absent after a timeout', async () => {
  const simulator = await openSimulator()
  const runtime = await openRuntime([simulator], { stallMs: 50 })
  const spec = await provision(runtime)
  await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
  simulator.intercept = ({ path }) =>
    path === `/v1/models/${spec.modelUid}` ? { status: 400, body: { detail: 'Model not found' } } : undefined
  const unlisted = await runtime.observeEngine(spec.engineId, spec.clusterId)
  expect(unlisted).toMatchObject({ phase: 'starting', lostAt: 'unknown' })
  const absent = await waitForPhase(() => runtime.observeEngine(spec.engineId, spec.clusterId), 'absent')
  expect(absent).toEqual({ phase: 'absent', lostAt: 'unknown' })
})

describe('a worker dies with its model', () => {
  async function listModels({ url }: XinferenceSimulator): Promise<string[]> {
    const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] }
    return data.map(({ id }) => id)
  }

  async function loseWorker() {
    const simulator = await openSimulator({ workers: [makeWorker('10.0.0.7', 1), makeWorker('10.0.0.8', 1)] })
    const runtime = await openRuntime([simulator], { stallMs: 50 })
    const spec = await provision(runtime, gpuVariant, oneGpu)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    const { worker } = simulator.models.get(spec.modelUid)!
    simulator.loseWorker(worker)
    await waitForPhase(() => runtime.observeEngine(spec.engineId, spec.clusterId), 'absent')
    return { simulator, runtime, spec, worker }
  }

  test('the model can be stopped, and is launched on another worker', async () => {
    const { simulator, runtime, spec, worker } = await loseWorker()
    expect(await runtime.stopEngine(spec.engineId, spec.clusterId)).toBe(true)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    const again = simulator.models.get(spec.modelUid)!
    expect(again.worker).not.toBe(worker)
    expect(await runtime.listEngineIds()).toEqual([spec.engineId])
  })

  test('until the supervisor notices, the model counts as held, and the others are listed', async () => {
    const simulator = await openSimulator()
    const runtime = await openRuntime([simulator])
    const [dead, other] = [await provision(runtime), await provision(runtime)]
    for (const spec of [dead, other]) await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    simulator.models.get(dead.modelUid)!.isLost = true
    const detail = "[Errno 111] Connect call failed ('127.0.0.2', 43072)"
    simulator.intercept = ({ path }) =>
      path === `/v1/models/${dead.modelUid}` ? { status: 500, body: { detail } } : undefined
    const ids = [dead.engineId, other.engineId].toSorted()
    // The supervisor's list is up to three seconds old.
    await vi.waitFor(() => expect(listModels(simulator)).resolves.toEqual([other.modelUid]), 10_000)
    expect((await runtime.listEngineIds()).toSorted()).toEqual(ids)
    await expect(runtime.release(dead.engineId, dead.clusterId)).rejects.toThrow('Connect call failed')
    simulator.intercept = null
    expect(await runtime.listEngineIds()).toEqual([other.engineId])
  })

  test('the deployment can be released, and nothing remains', async () => {
    const { simulator, runtime, spec } = await loseWorker()
    expect(await runtime.release(spec.engineId, spec.clusterId)).toBe(true)
    await vi.waitFor(async () => expect(await runtime.listEngineIds()).toEqual([]), 10_000)
    const restarted = await openRuntime([simulator])
    expect(await restarted.release(spec.engineId), 'repeated release').toBe(true)
  })
})

test.each([
  ['2.11.0', false],
  ['0.16.3', false],
  ['2.12.0', true],
  ['0+unknown', true],
])('version %s', async (version, isSupported) => {
  const simulator = await openSimulator({ version })
  const runtime = await openRuntime([simulator])
  const offers = runtime.listOffers()
  if (isSupported) expect(await offers).toHaveLength(1)
  else await expect(offers).rejects.toThrow(`runs Xinference ${version}`)
})

describe('several supervisors', () => {
  test('a model is found without its cluster id, as after a restart of Berth', async () => {
    const [one, two] = [await openSimulator(), await openSimulator()]
    const runtime = await openRuntime([two])
    const spec = await provision(runtime)
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    const other = await openRuntime([one, two])
    expect(await other.observeEngine(spec.engineId)).toMatchObject({ endpoint: { baseUrl: two.url } })
    expect(await other.listEngineIds()).toEqual([spec.engineId])
    const third = await openRuntime([one, two])
    await vi.waitUntil(() => third.release(spec.engineId), 20_000)
    expect(two.models.get(spec.modelUid)?.status).toBe('TERMINATED')
  })

  test('an unreachable one does not affect the others', async () => {
    const [down, up] = [await openSimulator(), await openSimulator()]
    await down.stopListening()
    const runtime = await openRuntime([down, up])
    const spec = await provision(runtime)
    expect(spec.clusterId).toBe(nameAddress('xinference', up.url))
    await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    const restarted = await openRuntime([down, up])
    await vi.waitUntil(() => restarted.release(spec.engineId, spec.clusterId), 20_000)
    const nowhere = makeSpec(tiny)
    await expect(restarted.release(nowhere.engineId), 'may be on the unreachable one').rejects.toThrow()
    await expect(restarted.release(nowhere.engineId, nameAddress('xinference', down.url))).rejects.toThrow()
  })

  test('one that was removed from the settings', async () => {
    const [removed, up] = [await openSimulator(), await openSimulator()]
    const runtime = await openRuntime([removed])
    const spec = await provision(runtime)
    const other = await openRuntime([up])
    expect(await other.ensureEngine(spec)).toMatchObject({ phase: 'failed', code: 'instance_lost' })
    expect(await other.release(spec.engineId, spec.clusterId)).toBe(true)
  })
})

describe('offers and capacity', () => {
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

  test('one offer per number of GPUs, named after the instance type file if it matches', async () => {
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

  test('a GPU is reserved once, freed with its deployment, and unavailable while its memory is in use', async () => {
    const simulator = await openSimulator({ workers: [makeWorker('10.0.0.7', 2)] })
    const runtime = await openRuntime([simulator])
    const refusal = { outcome: 'refused', code: 'no_capacity' }
    const specs = [await provision(runtime, gpuVariant, oneGpu), await provision(runtime, gpuVariant, oneGpu)]
    const third = makeSpec(gpuVariant, oneGpu)
    expect(await runtime.provision(third)).toMatchObject(refusal)
    expect(await runtime.provision(specs[0]!), 'repeated provision').toMatchObject({
      outcome: 'provisioned',
    })
    for (const spec of specs) await waitForPhase(() => runtime.ensureEngine(spec), 'ready')
    const restarted = await openRuntime([simulator])
    await vi.waitFor(async () => expect(await restarted.provision(third)).toMatchObject(refusal), 20_000)
    await vi.waitUntil(() => runtime.release(specs[0]!.engineId, specs[0]!.clusterId), 20_000)
    simulator.occupied.add('10.0.0.7/0').add('10.0.0.7/1')
    expect(await runtime.provision(third)).toMatchObject(refusal)
    simulator.occupied.clear()
    await vi.waitFor(
      async () => expect(await runtime.provision(third)).toMatchObject({ outcome: 'provisioned' }),
      10_000,
    )
  })

  test('no_capacity: an instance type that no host has, and a host with too little memory', async () => {
    const simulator = await openSimulator()
    const runtime = await openRuntime([simulator])
    const refusal = { outcome: 'refused', code: 'no_capacity' }
    expect(await runtime.provision(makeSpec(gpuVariant, oneGpu))).toMatchObject(refusal)
    const large = { instanceType: 'xinference-cpu', memoryBytes: 17 * 2 ** 30 }
    expect(await runtime.provision(makeSpec(tiny, large))).toMatchObject(refusal)
  })
})

describe('the list of models', () => {
  const spec = (size: number | string, quantization: string) => ({
    model_format: 'pytorch',
    model_size_in_billions: size,
    quantization,
  })
  const listed = [
    { model_name: 'qwen2.5-instruct', is_builtin: true, model_specs: [spec(7, 'none'), spec('1_5', 'none')] },
    { model_name: 'my-model', is_builtin: false },
  ]
  const countListings = ({ calls }: XinferenceSimulator) =>
    calls.filter((call) => call === 'GET /v1/model_registrations/LLM').length

  test('a variant that no cluster has is unavailable, with the reason; a custom model counts', async () => {
    const simulator = await openSimulator()
    simulator.intercept = ({ path }) =>
      path === '/v1/model_registrations/LLM' ? { status: 200, body: listed } : undefined
    const runtime = await openRuntime([simulator])
    const explain = await runtime.readAvailability!()
    expect(explain(makeGpuVariant())).toBeNull()
    expect(explain(makeGpuVariant({ sizeInBillions: 1.5 }))).toBeNull()
    expect(explain(makeGpuVariant({ modelName: 'my-model' }))).toBeNull()
    const renamed = { engines: { xinference: { modelName: 'qwen2.5-instruct' } } }
    expect(explain(makeGpuVariant({ modelName: 'qwen-2.5', ...renamed }))).toBeNull()
    for (const absent of [{ modelName: 'phi-4' }, { quantization: 'Int4' }, { sizeInBillions: 14 }]) {
      expect(explain(makeGpuVariant(absent))).toMatch(/^Xinference's list of models has no \S+ with \d+B/)
    }
    await runtime.readAvailability!()
    expect(countListings(simulator), 'read once a minute').toBe(1)
  })

  test('a cluster whose list is unknown, or that has a model, keeps it available', async () => {
    const [old, current] = [await openSimulator(), await openSimulator()]
    current.intercept = ({ path }) =>
      path === '/v1/model_registrations/LLM' ? { status: 200, body: listed } : undefined
    const phi = makeGpuVariant({ modelName: 'phi-4' })
    expect((await (await openRuntime([old])).readAvailability!())(phi)).toBeNull()
    expect((await (await openRuntime([old, current])).readAvailability!())(phi)).toBeNull()
    expect((await (await openRuntime([current])).readAvailability!())(phi)).not.toBeNull()
    await current.stopListening()
    expect((await (await openRuntime([current])).readAvailability!())(phi)).toBeNull()
  })

  test('a cluster whose list fails is not asked again for each plan', async () => {
    const simulator = await openSimulator()
    simulator.intercept = ({ path }) =>
      path.startsWith('/v1/model_registrations/') ? { status: 500, body: 'Internal Server Error' } : undefined
    const runtime = await openRuntime([simulator])
    const phi = makeGpuVariant({ modelName: 'phi-4' })
    expect((await runtime.readAvailability!())(phi)).toBeNull()
    expect((await runtime.readAvailability!())(phi)).toBeNull()
    expect(countListings(simulator)).toBe(1)
  })

  test('a plan does not wait for a slow list, which counts once it arrives', async () => {
    const simulator = await openSimulator()
    const answer = Promise.withResolvers<SimulatedResponse>()
    simulator.intercept = ({ path }) => (path === '/v1/model_registrations/LLM' ? answer.promise : undefined)
    const runtime = await openRuntime([simulator], { modelListPatienceMs: 50 })
    const phi = makeGpuVariant({ modelName: 'phi-4' })
    expect((await runtime.readAvailability!())(phi)).toBeNull()
    expect((await runtime.readAvailability!())(phi), 'does not wait again').toBeNull()
    answer.resolve({ status: 200, body: listed })
    await vi.waitFor(async () => expect((await runtime.readAvailability!())(phi)).not.toBeNull(), 10_000)
    expect(countListings(simulator)).toBe(1)
  })
})
