import { execFile } from 'node:child_process'
import { access, readFile } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { promisify } from 'node:util'
import type { InstanceOffer } from '../../../ports/model-runtime.ts'
import type { LocalRuntimeSettings } from './settings.ts'

const run = promisify(execFile)

/** Share of the memory for engines. The rest is for the server, the database and the system. */
const ENGINE_MEMORY_SHARE = 0.9

interface Gpu {
  name: string
  memoryBytes: number
}

/** Memory of this host or container, in bytes. */
function readHostMemory(): number {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : totalmem()
}

/** The single instance type of this host: all GPUs that llama.cpp can use, or the CPU if there are none. */
export async function describeHost(
  settings: Pick<LocalRuntimeSettings, 'memoryBytes' | 'environment'>,
): Promise<InstanceOffer> {
  const memory = settings.memoryBytes ?? readHostMemory()
  const gpus = await findGpus(settings.environment, memory)
  const gpuMemory = gpus.reduce((sum, gpu) => sum + gpu.memoryBytes, 0)
  const total = gpus.length === 0 ? memory : (settings.memoryBytes ?? gpuMemory)
  return {
    instanceType: gpus.length === 0 ? 'local-cpu' : 'local-gpu',
    region: 'local',
    gpuCount: gpus.length,
    gpuModel: gpus[0]?.name ?? null,
    vendor: gpus.length === 0 ? null : process.platform === 'darwin' ? 'apple' : 'nvidia',
    computeCapability: null,
    memoryBytes: Math.floor(total * ENGINE_MEMORY_SHARE),
    formats: ['ggufv2'],
  }
}

/**
 * Threads per engine. llama.cpp's threads busy-wait for each other, so engines with more threads than cores in total slow each
 * other down many times over. Each engine therefore gets an equal share of the cores, based on the expected number of busy
 * engines. The actual number can't be used, because a running engine can't change its thread count.
 */
export function chooseThreads(cores: number, expectedEngines: number): number {
  return Math.max(1, Math.floor(cores / Math.max(1, expectedEngines)))
}

async function findGpus(
  environment: LocalRuntimeSettings['environment'],
  hostMemory: number,
): Promise<Gpu[]> {
  if (environment['NODE_LLAMA_CPP_GPU'] === 'false') return []
  if (process.platform === 'darwin' && process.arch === 'arm64') {
    return [{ name: 'Apple GPU (Metal)', memoryBytes: hostMemory }]
  }
  if (process.platform === 'linux') {
    const driver = await access('/proc/driver/nvidia/version').then(
      () => true,
      () => false,
    )
    if (!driver) return []
  }
  const args = ['--query-gpu=index,uuid,name,memory.total', '--format=csv,noheader,nounits']
  try {
    const { stdout } = await run('nvidia-smi', args, { timeout: 10_000 })
    return parseGpus(stdout, environment['CUDA_VISIBLE_DEVICES'])
  } catch {
    return []
  }
}

/** Parses the output of `nvidia-smi` (index, UUID, name, MiB) and drops GPUs hidden by `CUDA_VISIBLE_DEVICES`. */
export function parseGpus(lines: string, visible: string | undefined): Gpu[] {
  const chosen = visible?.split(',').map((item) => item.trim())
  return lines
    .split('\n')
    .map((line) => line.split(',').map((field) => field.trim()))
    .flatMap(([index = '', uuid = '', name = '', mebibytes = '']) => {
      const hidden =
        chosen !== undefined &&
        !chosen.some((item) => item === index || (item !== '' && uuid.startsWith(item)))
      const memoryBytes = Number(mebibytes) * 2 ** 20
      return hidden || !(memoryBytes > 0) ? [] : [{ name, memoryBytes }]
    })
}

/** The kernel's count of out-of-memory kills, in this container if it has its own counter; null when unknown. */
export async function countOutOfMemoryKills(): Promise<number | null> {
  for (const path of ['/sys/fs/cgroup/memory.events', '/proc/vmstat']) {
    const text = await readFile(path, 'utf8').catch(() => '')
    const count = /^oom_kill (\d+)$/m.exec(text)?.[1]
    if (count !== undefined) return Number(count)
  }
  return null
}

/** Identifies the boot of this host or container, by the boot id and the start time of its first process. */
export async function readBootId(): Promise<string> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  const init = await readFile('/proc/1/stat', 'utf8').catch(() => '')
  // Field 22 is the start time. The process name before it is in parentheses and may contain spaces (proc_pid_stat(5)).
  return `${boot.trim()}:${init.slice(init.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`
}
