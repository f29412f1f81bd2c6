import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { LocalRuntimeSettings } from '../../src/adapters/model-runtime/local/settings.ts'
import type { ProbeResult } from '../../src/adapters/model-runtime/local/inventory/types.ts'
import { createLocalRuntime } from '../../src/adapters/model-runtime/local/runtime.ts'
import type { EngineSpec, ModelRuntime } from '../../src/ports/model-runtime.ts'
import {
  patient,
  tinyModel,
  makeFolder,
  makeSettings,
  makeSpec,
  makeVariant,
} from './local-runtime-support.ts'

const tinyVariant = makeVariant({ kind: 'file', path: tinyModel })
const onGpu = { instanceType: 'local-gpu', gpuCount: 1 }

const mebibyte = 2 ** 20
const works: ProbeResult = { works: true, library: null }

/** Settings of a host whose nvidia-smi reports GPUs with these UUIDs. */
async function makeGpuHost(uuids: string[]): Promise<{ folder: string; settings: LocalRuntimeSettings }> {
  const folder = await makeFolder()
  const programs = join(folder, 'bin')
  await mkdir(programs)
  const lines = uuids.map((uuid, index) => `${index}, ${uuid}, NVIDIA Test, 24576, 570.86.15`)
  await writeFile(join(programs, 'nvidia-smi'), `#!/bin/sh\ncat <<'END'\n${lines.join('\n')}\nEND\n`)
  await chmod(join(programs, 'nvidia-smi'), 0o755)
  const environment = { PATH: `${programs}:${process.env['PATH']}`, HOME: folder }
  return { folder, settings: makeSettings(folder, { environment, probeDevice: async () => works }) }
}

/** A GPU of `nvidia-smi` with 24 GiB, what is in use there, in MiB, and how busy it is, in percent. */
interface UsedGpu {
  uuid: string
  used: number
  busy?: number
  programs?: readonly (readonly [pid: number, name: string, used: number])[]
}

/** A host whose nvidia-smi tells what is in use, which `use` changes. */
async function makeUsedHost(gpus: UsedGpu[], changes: Partial<LocalRuntimeSettings> = {}) {
  const { folder, settings } = await makeGpuHost([])
  const program = join(folder, 'bin', 'nvidia-smi')
  const use = async (now: UsedGpu[]) => {
    const answers = {
      'query-compute-apps': now.flatMap(({ uuid, programs = [] }) =>
        programs.map((each) => [uuid, ...each].join(', ')),
      ),
      'memory.used':
        now.length === 0
          ? ['No devices were found']
          : now.map(
              ({ uuid, used, busy = '[N/A]' }, index) => `${uuid}, 00000000:0${index}:00.0, ${used}, ${busy}`,
            ),
      compute_cap: now.map(({ uuid }) => `${uuid}, 8.9`),
      'memory.total': now.map(({ uuid }, index) => `${index}, ${uuid}, NVIDIA L4, 24576, 570.86.15`),
    }
    const cases = Object.entries(answers).map(
      ([name, lines]) => `*${name}*)\n${lines.map((line) => `echo '${line}'`).join('\n') || ':'}\n;;`,
    )
    const path = `${program}.new`
    await writeFile(path, `#!/bin/sh\ncase $1 in\n${cases.join('\n')}\nesac\n`, { mode: 0o755 })
    await rename(path, program)
  }
  await use(gpus)
  return { folder, settings: { ...settings, ...changes }, use }
}

async function openRuntime(settings: LocalRuntimeSettings): Promise<ModelRuntime> {
  const runtime = await createLocalRuntime(settings)
  onTestFinished(async () => {
    for (const id of await runtime.listEngineIds()) await vi.waitUntil(() => runtime.release(id), patient)
    await runtime.close()
  })
  return runtime
}

async function readGpus(folder: string): Promise<string[]> {
  const engines = join(folder, 'engines')
  const records = (await readdir(engines)).map(async (id) => {
    const text = await readFile(join(engines, id, 'instance.json'), 'utf8').catch(() => '{"gpus":[]}')
    return (JSON.parse(text) as { gpus: string[] }).gpus
  })
  return (await Promise.all(records)).flat()
}

test('each of two deployments gets its own GPU, and the third is refused with a reason', async () => {
  const { settings } = await makeGpuHost(['GPU-a', 'GPU-b'])
  const runtime = await openRuntime(settings)
  expect(await runtime.listOffers()).toMatchObject([
    { instanceType: 'local-gpu', gpuCount: 1, gpuModel: 'NVIDIA Test', vendor: 'nvidia' },
    { instanceType: 'local-gpu-x2', gpuCount: 2 },
    { instanceType: 'local-cpu', gpuCount: 0, maxBillions: 1, formats: ['ggufv2'] },
  ])
  const specs = [1, 2, 3].map(() => makeSpec(tinyVariant, onGpu))
  const results = await Promise.all(specs.map((spec) => runtime.provision(spec)))
  expect(results).toEqual([
    expect.objectContaining({ instance: expect.objectContaining({ gpuAllocationId: 'GPU-a' }) }),
    expect.objectContaining({ instance: expect.objectContaining({ gpuAllocationId: 'GPU-b' }) }),
    {
      outcome: 'refused',
      code: 'no_capacity',
      message:
        'local-gpu needs a GPU, but 0 of the 2 on this host are free. ' +
        'Terminate a deployment, or deploy again when another one has ended.',
    },
  ])
  const both = await runtime.provision(makeSpec(tinyVariant, { instanceType: 'local-gpu-x2', gpuCount: 2 }))
  expect(both).toMatchObject({
    outcome: 'refused',
    message: expect.stringMatching(/^local-gpu-x2 needs 2 GPUs/),
  })

  const again = await createLocalRuntime(settings)
  expect(await again.provision(specs[1]!)).toEqual(results[1])
  await again.close()
  await vi.waitUntil(() => runtime.release(specs[0]!.engineId), patient)
  expect(await runtime.provision(specs[2]!)).toMatchObject({ instance: { gpuAllocationId: 'GPU-a' } })
})

test('LOCAL_CPU_MAX_BILLIONS limits the models for the CPU beside GPUs', async () => {
  const { settings } = await makeGpuHost(['GPU-a'])
  const runtime = await openRuntime({ ...settings, cpuMaxBillions: 0.5 })
  expect((await runtime.listOffers()).at(-1)).toMatchObject({ instanceType: 'local-cpu', maxBillions: 0.5 })
})

test('an engine sees only its own GPUs, which stay allocated until the engine has exited', async () => {
  const { folder, settings } = await makeGpuHost(['GPU-a', 'GPU-b', 'GPU-c'])
  const program = join(folder, 'engine.mjs')
  await writeFile(
    program,
    `process.on('SIGTERM', () => {})
     console.log('sees ' + process.env.CUDA_VISIBLE_DEVICES)
     setInterval(() => {}, 1000)`,
  )
  const runtime = await openRuntime({ ...settings, engineProgram: program })
  const spec = makeSpec(tinyVariant, { instanceType: 'local-gpu-x2', gpuCount: 2 })
  await runtime.provision(spec)
  await runtime.ensureEngine(spec)
  await expect
    .poll(async () => (await runtime.logs.read(spec.engineId, 10)).map(({ line }) => line))
    .toContain('sees GPU-a,GPU-b')

  const other = makeSpec(tinyVariant, { instanceType: 'local-gpu-x2', gpuCount: 2 })
  expect(await runtime.release(spec.engineId)).toBe(false)
  expect(await runtime.provision(other)).toMatchObject({ code: 'no_capacity' })
  await vi.waitUntil(() => runtime.release(spec.engineId), patient)
  expect(await runtime.provision(other)).toMatchObject({ instance: { gpuAllocationId: 'GPU-a,GPU-b' } })
})

test('an engine on the CPU of a host with GPUs sees none of them, and leaves them free', async () => {
  const { folder, settings } = await makeGpuHost(['GPU-a'])
  const program = join(folder, 'engine.mjs')
  await writeFile(
    program,
    `console.log(JSON.stringify([process.env.CUDA_VISIBLE_DEVICES, process.argv.slice(2).join(' ')]))
     setInterval(() => {}, 1000)`,
  )
  const runtime = await openRuntime({ ...settings, engineProgram: program })
  const spec = makeSpec(tinyVariant, { instanceType: 'local-cpu', gpuCount: 0 })
  expect(await runtime.provision(spec)).toMatchObject({ instance: { gpuAllocationId: 'host' } })
  await runtime.ensureEngine(spec)
  const readStart = async () => (await runtime.logs.read(spec.engineId, 10)).map(({ line }) => line).join()
  await expect.poll(readStart).toMatch(/^\["",".*--device any --gpu-layers 0/)
  const onCard = await runtime.provision(makeSpec(tinyVariant, onGpu))
  expect(onCard).toMatchObject({ instance: { gpuAllocationId: 'GPU-a' } })
})

/** A llama-server for Vulkan, to which no variable hides a GPU. It prints its arguments and goes on. */
async function writeVulkanServer(folder: string): Promise<string> {
  const program = join(folder, 'llama-server')
  const list = [
    'Available devices:',
    '  Vulkan0: NVIDIA Test (24576 MiB)',
    '  Vulkan1: NVIDIA Test (24576 MiB)',
  ]
  await writeFile(
    program,
    `#!/bin/sh
case $1 in
--version) echo 'version: 10964 (0123abc)' ;;
--list-devices) echo '${list.join('\n')}' ;;
*) echo "started with $*"; exec sleep 1000 ;;
esac
`,
    { mode: 0o755 },
  )
  return program
}

test.each([
  ['a GPU', onGpu, '--device Vulkan1'],
  ['both GPUs', { instanceType: 'local-gpu-x2', gpuCount: 2 }, '--n-gpu-layers 999'],
  ['the CPU', { instanceType: 'local-cpu', gpuCount: 0 }, '--n-gpu-layers 0 --device none'],
])('a llama-server for Vulkan uses no other GPU than its own: %s', async (_name, place, expected) => {
  const { folder, settings } = await makeGpuHost(['GPU-a', 'GPU-b'])
  const llamaServerCommand = [await writeVulkanServer(folder)] as const
  const runtime = await openRuntime({ ...settings, llamaServerCommand })
  if (place === onGpu) await runtime.provision(makeSpec(tinyVariant, onGpu))
  const spec = makeSpec(tinyVariant, place)
  expect(await runtime.provision(spec)).toMatchObject({ outcome: 'provisioned' })
  await runtime.ensureEngine(spec)
  const readArguments = async () =>
    (await runtime.logs.read(spec.engineId, 20)).map(({ line }) => line).join('\n')
  await expect.poll(readArguments, patient).toContain('started with')
  const args = await readArguments()
  expect(args).toContain(expected)
  if (place.gpuCount === 2) expect(args).not.toContain('--device')
})

/** An engine that says on which GPU it runs, and goes on. */
async function writeEngine(folder: string): Promise<string> {
  const program = join(folder, 'engine.mjs')
  await writeFile(
    program,
    `console.log('pid ' + process.pid + ' sees ' + process.env.CUDA_VISIBLE_DEVICES)
     setInterval(() => {}, 1000)`,
  )
  return program
}

async function readStart(runtime: ModelRuntime, engineId: string): Promise<{ pid: number; gpu: string }> {
  return vi.waitFor(async () => {
    const lines = (await runtime.logs.read(engineId, 10)).map(({ line }) => line)
    const [, pid, gpu] = [...lines.join('\n').matchAll(/pid (\d+) sees (\S*)/g)].at(-1) ?? []
    if (pid === undefined) throw new Error(`no start in ${lines.join('\n')}`)
    return { pid: Number(pid), gpu: gpu! }
  }, patient)
}

const owner = userInfo().username

test('memory that other programs use is neither offered nor given, and the programs are named', async () => {
  const program = [process.pid, '/usr/bin/python3', 20_480] as const
  const { settings, use } = await makeUsedHost([{ uuid: 'GPU-a', used: 20_500, programs: [program] }])
  const runtime = await openRuntime(settings)
  const named = `python3 (pid ${process.pid}, user ${owner}) uses 20.0 GiB`
  const [offer] = await runtime.listOffers()
  expect(offer).toMatchObject({ instanceType: 'local-gpu', inUse: { programs: named } })
  expect(offer!.memoryBytes).toBeLessThan(4 * 2 ** 30)
  const spec = makeSpec(tinyVariant, { ...onGpu, memoryBytes: 8 * 2 ** 30 })
  expect(await runtime.provision(spec)).toEqual({
    outcome: 'refused',
    code: 'in_use',
    message: `local-gpu needs a GPU, but memory is in use by others: ${named}.`,
  })

  await use([{ uuid: 'GPU-a', used: 4 }])
  expect(await runtime.provision(spec)).toMatchObject({ outcome: 'provisioned' })
  // Between the reservation and the start, the program is back.
  await use([{ uuid: 'GPU-a', used: 20_500, programs: [program] }])
  await expect
    .poll(() => runtime.ensureEngine(spec), patient)
    .toMatchObject({
      phase: 'failed',
      stage: 'engine_startup',
      code: 'in_use',
      message: `local-gpu can’t start the engine, because memory is in use by others: ${named}.`,
    })
})

test("the memory of Berth's own engines is not that of others", async () => {
  const { folder, settings, use } = await makeUsedHost([{ uuid: 'GPU-a', used: 4 }], { gpuShares: 4 })
  const runtime = await openRuntime({ ...settings, engineProgram: await writeEngine(folder) })
  const spec = makeSpec(tinyVariant, { instanceType: 'local-gpu/4', gpuCount: 1 })
  await runtime.provision(spec)
  await vi.waitFor(() => runtime.ensureEngine(spec), patient)
  const { pid } = await readStart(runtime, spec.engineId)
  await use([{ uuid: 'GPU-a', used: 5_100, programs: [[pid, 'node', 5_000]] }])
  const other = makeSpec(tinyVariant, { instanceType: 'local-gpu/4', gpuCount: 1 })
  expect(await runtime.provision(other)).toMatchObject({ outcome: 'provisioned' })
  // 5 GiB of an engine, and 10 of another program
  const foreign = [process.pid, 'python', 10_240] as const
  await use([{ uuid: 'GPU-a', used: 15_300, busy: 75, programs: [[pid, 'node', 5_000], foreign] }])
  const third = makeSpec(tinyVariant, { instanceType: 'local-gpu/4', gpuCount: 1 })
  expect(await runtime.provision(third)).toMatchObject({
    code: 'in_use',
    message: `local-gpu/4 needs a share of a GPU, but memory is in use by others: python (pid ${process.pid}, user ${owner}) uses 10.0 GiB.`,
  })
  const [figures] = await runtime.hostEngines!.measureGpus()
  expect(figures).toEqual({
    id: 'GPU-a',
    name: 'NVIDIA L4',
    totalBytes: 24_576 * mebibyte,
    othersBytes: 10_240 * mebibyte,
    utilization: 0.75,
    engines: expect.arrayContaining([
      { engineId: spec.engineId, usedBytes: 5_000 * mebibyte },
      { engineId: other.engineId, usedBytes: null },
    ]),
  })
})

test('the memory of an engine on a whole GPU is known where the driver hides its process', async () => {
  const { settings, use } = await makeUsedHost([{ uuid: 'GPU-a', used: 4 }])
  const runtime = await openRuntime(settings)
  const spec = makeSpec(tinyVariant, onGpu)
  await use([{ uuid: 'GPU-a', used: 9_000 }])
  await runtime.provision(spec)
  const engines = [{ engineId: spec.engineId, usedBytes: 9_000 * mebibyte }]
  expect(await runtime.hostEngines!.measureGpus()).toMatchObject([{ utilization: null, engines }])
})

test('engines on shares of one GPU, and a whole GPU only if it is empty, also after a restart', async () => {
  const { folder, settings } = await makeUsedHost([{ uuid: 'GPU-a', used: 4 }], { gpuShares: 2 })
  const runtime = await openRuntime({ ...settings, engineProgram: await writeEngine(folder) })
  const [share, whole] = await runtime.listOffers()
  expect(share).toMatchObject({ instanceType: 'local-gpu/2', shares: 2 })
  expect(share!.memoryBytes).toBe(Math.floor(whole!.memoryBytes / 2))
  const specs = [1, 2, 3].map(() => makeSpec(tinyVariant, { instanceType: 'local-gpu/2', gpuCount: 1 }))
  const results = await Promise.all(specs.map((spec) => runtime.provision(spec)))
  expect(results).toMatchObject([
    { instance: { gpuAllocationId: 'GPU-a/2' } },
    { instance: { gpuAllocationId: 'GPU-a/2' } },
    { code: 'no_capacity', message: expect.stringContaining('0 of the 1 on this host have room') },
  ])
  for (const spec of specs.slice(0, 2)) {
    await runtime.ensureEngine(spec)
    expect((await readStart(runtime, spec.engineId)).gpu).toBe('GPU-a')
  }
  const again = await createLocalRuntime(settings)
  expect(await again.provision(specs[0]!)).toEqual(results[0])
  expect(await again.provision(makeSpec(tinyVariant, onGpu))).toMatchObject({ code: 'no_capacity' })
  await again.close()
  for (const { engineId } of specs) await vi.waitUntil(() => runtime.release(engineId), patient)
  expect(await runtime.provision(makeSpec(tinyVariant, onGpu))).toMatchObject({
    instance: { gpuAllocationId: 'GPU-a' },
  })
})

test('an engine on a share starts with its share again after shares are not offered anymore', async () => {
  const { folder, settings } = await makeUsedHost([{ uuid: 'GPU-a', used: 4 }], { gpuShares: 4 })
  const vllm = join(folder, 'vllm')
  await writeFile(vllm, '#!/bin/sh\necho "started with $*"\n[ $1 = serve ] && exec sleep 1000\n', {
    mode: 0o755,
  })
  const variant = makeVariant({ kind: 'file', path: tinyModel }, { format: 'pytorch' })
  const spec = makeSpec(variant, { instanceType: 'local-gpu/4', gpuCount: 1 })
  const first = await openRuntime({ ...settings, vllmCommand: [vllm] })
  expect(await first.provision(spec)).toMatchObject({ outcome: 'provisioned' })
  const second = await openRuntime({ ...settings, vllmCommand: [vllm], gpuShares: 1 })
  await vi.waitFor(() => second.ensureEngine(spec), patient)
  await expect
    .poll(async () => (await second.logs.read(spec.engineId, 20)).map(({ line }) => line).join('\n'), patient)
    .toContain('--gpu-memory-utilization 0.225')
})

test('an engine that takes more than its share fails, and leaves the others their memory', async () => {
  const { folder, settings, use } = await makeUsedHost([{ uuid: 'GPU-a', used: 4 }], { gpuShares: 4 })
  const runtime = await openRuntime({ ...settings, engineProgram: await writeEngine(folder) })
  const spec = makeSpec(tinyVariant, { instanceType: 'local-gpu/4', gpuCount: 1 })
  await runtime.provision(spec)
  await runtime.ensureEngine(spec)
  const { pid } = await readStart(runtime, spec.engineId)
  await use([{ uuid: 'GPU-a', used: 7_000, programs: [[pid, 'node', 6_900]] }])
  await runtime.listOffers()
  await expect
    .poll(() => runtime.observeEngine(spec.engineId), patient)
    .toMatchObject({
      phase: 'failed',
      code: 'out_of_memory',
      message: 'The engine uses 6.7 GiB of the GPU, more than its share of 6.0 GiB (1/4).',
    })
})

test('an engine whose GPU disappears fails, is not billed from then on, and starts on another one', async () => {
  const gpus = ['GPU-a', 'GPU-b'].map((uuid) => ({ uuid, used: 4 }))
  const { folder, settings, use } = await makeUsedHost(gpus)
  const runtime = await openRuntime({ ...settings, engineProgram: await writeEngine(folder) })
  const spec = makeSpec(tinyVariant, onGpu)
  expect(await runtime.provision(spec)).toMatchObject({ instance: { gpuAllocationId: 'GPU-a' } })
  await runtime.ensureEngine(spec)
  await readStart(runtime, spec.engineId)
  await use(gpus.slice(1))
  const message =
    'The GPU NVIDIA L4 (GPU-a) disappeared from this host. The kernel log has the reason, such as an Xid error.'
  await expect
    .poll(() => runtime.observeEngine(spec.engineId), patient)
    .toEqual({ phase: 'failed', stage: 'runtime', code: 'instance_lost', message, lostAt: 'unknown' })
  expect(await runtime.listOffers()).toMatchObject([
    { instanceType: 'local-gpu' },
    { instanceType: 'local-cpu' },
  ])

  await vi.waitUntil(() => runtime.stopEngine(spec.engineId), patient)
  await runtime.ensureEngine(spec)
  await expect.poll(async () => (await readStart(runtime, spec.engineId)).gpu, patient).toBe('GPU-b')
  await use([])
  await vi.waitUntil(() => runtime.stopEngine(spec.engineId), patient)
  expect(await runtime.ensureEngine(spec)).toMatchObject({ phase: 'failed', code: 'instance_lost' })
})

const llamaDouble = fileURLToPath(new URL('llama-server-double.mjs', import.meta.url))
const cpuServer = [process.execPath, llamaDouble] as const

test.each([
  { name: "Berth's engine", changes: {}, reason: /^The GPU can't be used: .+ Check the driver/ },
  {
    name: 'llama-server',
    changes: { llamaServerCommand: cpuServer },
    reason: /^The GPU can't be used\. Log: warning: no usable GPU found/,
  },
])(
  '$name on a GPU that it cannot use fails instead of running on the CPU',
  async ({ changes, reason }) => {
    const { folder, settings } = await makeGpuHost(['GPU-a'])
    const runtime = await openRuntime({ ...settings, ...changes })
    const model = join(folder, 'no-gpu.gguf')
    await copyFile(tinyModel, model)
    const spec = makeSpec(makeVariant({ kind: 'file', path: model }), onGpu)
    await runtime.provision(spec)
    const failed = await vi.waitUntil(
      async () => {
        const seen = await runtime.ensureEngine(spec)
        expect(seen.phase).not.toBe('ready')
        return seen.phase === 'failed' && seen
      },
      { timeout: 60_000 },
    )
    expect(failed).toMatchObject({ stage: 'engine_startup', code: 'provider_error' })
    expect(failed.message).toMatch(reason)
  },
  90_000,
)

test('a GPU is never assigned twice by a server that is killed at any moment', async () => {
  const uuids = Array.from({ length: 4 }, (_, index) => `GPU-${index}`)
  const { folder, settings } = await makeGpuHost(uuids)
  const module = new URL('../../src/adapters/model-runtime/local/runtime.ts', import.meta.url).href
  const { logger: _, probeDevice: __, ...plain } = settings
  const specs: EngineSpec[] = Array.from({ length: 8 }, () => makeSpec(tinyVariant, onGpu))
  // Provisions and releases deployments without end.
  const program = `
    import { createLocalRuntime } from ${JSON.stringify(module)}
    const runtime = await createLocalRuntime({ ...${JSON.stringify(plain)}, logger: { info() {}, warn() {} },
      probeDevice: async () => (${JSON.stringify(works)}) })
    const specs = ${JSON.stringify(specs)}
    process.stdout.write('ready')
    for (;;) {
      const some = specs.filter(() => Math.random() < 0.5)
      await Promise.all(some.map((spec) => Math.random() < 0.5 ? runtime.provision(spec) : runtime.release(spec.engineId)))
    }`
  for (let round = 0; round < 4; round++) {
    const server = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void server.kill('SIGKILL'))
    const exit = once(server, 'exit')
    await once(server.stdout, 'data')
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 40))
    server.kill('SIGKILL')
    await exit
    const allocated = await readGpus(folder)
    expect(new Set(allocated).size, allocated.join(' ')).toBe(allocated.length)
  }
  const runtime = await openRuntime(settings)
  for (const { engineId } of specs) expect(await runtime.release(engineId)).toBe(true)
  expect(await readdir(join(folder, 'engines'))).toEqual([])
}, 180_000)
