import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { LocalRuntimeSettings } from '../../src/adapters/model-runtime/local/settings.ts'
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

/** Settings of a host whose nvidia-smi reports GPUs with these UUIDs. */
async function makeGpuHost(uuids: string[]): Promise<{ folder: string; settings: LocalRuntimeSettings }> {
  const folder = await makeFolder()
  const programs = join(folder, 'bin')
  await mkdir(programs)
  const lines = uuids.map((uuid, index) => `${index}, ${uuid}, NVIDIA Test, 24576, 570.86.15`)
  await writeFile(join(programs, 'nvidia-smi'), `#!/bin/sh\ncat <<'END'\n${lines.join('\n')}\nEND\n`)
  await chmod(join(programs, 'nvidia-smi'), 0o755)
  const environment = { PATH: `${programs}:${process.env['PATH']}`, HOME: folder }
  return { folder, settings: makeSettings(folder, { environment }) }
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

const llamaDouble = fileURLToPath(new URL('llama-server-double.mjs', import.meta.url))
const cpuServer = [process.execPath, llamaDouble] as const

test.each([
  { name: "Berth's engine", changes: {}, reason: /^The GPU can't be used: .+ Check the driver/ },
  {
    name: 'llama-server',
    changes: { llamaServerCommand: cpuServer },
    reason: /^The GPU can't be used\. Log: warning: no usable GPU found/,
  },
])('$name on a GPU that it cannot use fails instead of running on the CPU', async ({ changes, reason }) => {
  const { folder, settings } = await makeGpuHost(['GPU-a'])
  const runtime = await openRuntime({ ...settings, ...changes })
  const model = join(folder, 'no-gpu.gguf')
  await copyFile(tinyModel, model)
  const spec = makeSpec(makeVariant({ kind: 'file', path: model }), onGpu)
  await runtime.provision(spec)
  const failed = await vi.waitUntil(async () => {
    const seen = await runtime.ensureEngine(spec)
    expect(seen.phase).not.toBe('ready')
    return seen.phase === 'failed' && seen
  }, patient)
  expect(failed).toMatchObject({ stage: 'engine_startup', code: 'provider_error' })
  expect(failed.message).toMatch(reason)
})

test('a GPU is never assigned twice by a server that is killed at any moment', async () => {
  const uuids = Array.from({ length: 4 }, (_, index) => `GPU-${index}`)
  const { folder, settings } = await makeGpuHost(uuids)
  const module = new URL('../../src/adapters/model-runtime/local/runtime.ts', import.meta.url).href
  const { logger: _, ...plain } = settings
  const specs: EngineSpec[] = Array.from({ length: 8 }, () => makeSpec(tinyVariant, onGpu))
  // Provisions and releases deployments without end.
  const program = `
    import { createLocalRuntime } from ${JSON.stringify(module)}
    const runtime = await createLocalRuntime({ ...${JSON.stringify(plain)}, logger: { info() {}, warn() {} } })
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
