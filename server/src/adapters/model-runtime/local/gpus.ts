import type { GpuProgram, GpuReading, ReadGpus } from './gpu-reader.ts'
import { lastLine, runProgram } from './run-program.ts'
import type { ProgramRun } from './run-program.ts'

const timeoutMs = 10_000
const noDevices = /no devices were found/i

/** A GPU of this host. */
export interface Gpu {
  vendor: 'nvidia' | 'amd'
  /** As the variables that limit an engine to it take it */
  uuid: string
  /** As the vendor's program prints it, such as `NVIDIA L4` */
  name: string
  memoryBytes: number
  driverVersion: string
  /** NVIDIA's, such as 8.9; null when unknown */
  computeCapability: number | null
}

type Environment = Record<string, string | undefined>

/** The GPUs of a vendor. */
export interface FoundGpus {
  gpus: Gpu[]
  /** Why the vendor's program can't tell the GPUs, as a clause; null if it is missing, or tells them */
  problem: string | null
}

/** Lists the NVIDIA GPUs that `CUDA_VISIBLE_DEVICES` allows. */
export async function findGpus(environment: Environment): Promise<FoundGpus> {
  const run = await runQuery('--query-gpu=index,uuid,name,memory.total,driver_version', environment)
  const { stdout, stderr } = run
  const isMissing = run.outcome === 'failed' && run.how === 'missing'
  if (isMissing || noDevices.test(stdout + stderr)) return { gpus: [], problem: null }
  if (run.outcome === 'failed') return { gpus: [], problem: run.reason }
  const capabilities = await runQuery('--query-gpu=uuid,compute_cap', environment)
  const known = capabilities.outcome === 'done' ? capabilities.stdout : ''
  const isNonsense = parseGpus(stdout, known, undefined).length === 0
  return {
    gpus: parseGpus(stdout, known, environment['CUDA_VISIBLE_DEVICES']),
    problem: isNonsense ? `it printed "${lastLine(stdout)}"` : null,
  }
}

function runQuery(selection: string, environment: Environment): Promise<ProgramRun> {
  const args = [selection, '--format=csv,noheader,nounits']
  return runProgram(['nvidia-smi', ...args], { environment, timeoutMs })
}

/** Reads the memory in use and its programs. Remembers the bus of each GPU, for one that is lost. */
export function createNvidiaReading(environment: Environment): ReadGpus {
  let last: { reading: GpuReading; buses: Map<string, string> } | null = null
  return async () => {
    const [cards, programs] = await Promise.all([
      runQuery('--query-gpu=uuid,pci.bus_id,memory.used,utilization.gpu', environment),
      runQuery('--query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory', environment),
    ])
    if (cards.outcome === 'failed' && cards.how !== 'exit') return null
    const read = parseUse(cards.stdout, programs.outcome === 'done' ? programs.stdout : '')
    if (read.reading.usedBytes.size > 0 || noDevices.test(cards.stdout)) last = read
    else {
      const lost = findLostBus(cards.stdout + cards.stderr)
      const uuid = [...(last?.buses ?? [])].find(([, bus]) => bus === lost)?.[0]
      if (last === null || uuid === undefined) return null
      last = { ...last, reading: withoutGpu(last.reading, uuid) }
    }
    return last.reading
  }
}

/** Parses nvidia-smi's UUID, bus, MiB in use, percent; UUID, process id, path of the program, MiB in use. */
export function parseUse(
  cards: string,
  programs: string,
): { reading: GpuReading; buses: Map<string, string> } {
  const rows = splitRows(cards).flatMap(([uuid = '', bus = '', mebibytes = '', percent = '']) => {
    // Some drivers don't tell how much is in use: `[N/A]`.
    const used = mebibytes.startsWith('[') ? 0 : toBytes(mebibytes)
    return /^[\w-]+$/.test(uuid) && used !== null ? [{ uuid, bus: toBus(bus), used, percent }] : []
  })
  return {
    reading: {
      usedBytes: new Map(rows.map(({ uuid, used }) => [uuid, used])),
      utilization: new Map(
        rows.flatMap(({ uuid, percent }) =>
          /^\d{1,3}$/.test(percent) ? [[uuid, Number(percent) / 100]] : [],
        ),
      ),
      programs: splitRows(programs).flatMap(toProgram),
    },
    buses: new Map(rows.map(({ uuid, bus }) => [uuid, bus])),
  }
}

function toProgram([uuid = '', pid = '', ...rest]: string[]): GpuProgram[] {
  if (!/^[\w-]+$/.test(uuid) || !/^[1-9]\d{0,9}$/.test(pid) || rest.length < 2) return []
  // A path may have commas.
  return [{ uuid, pid: Number(pid), name: rest.slice(0, -1).join(','), bytes: toBytes(rest.at(-1)!) }]
}

function toBytes(mebibytes: string): number | null {
  return /^\d{1,9}$/.test(mebibytes) ? Number(mebibytes) * 2 ** 20 : null
}

/** A bus that both outputs of nvidia-smi write alike: `0000:41:00.0` */
function toBus(text: string): string {
  return text.toLowerCase().slice(-12)
}

/** The bus of a GPU that has fallen off it; null for other messages. */
function findLostBus(output: string): string | null {
  const [, bus] =
    /unable to determine the device handle for .*?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])/i.exec(
      output,
    ) ?? []
  return bus === undefined ? null : toBus(bus)
}

function withoutGpu({ usedBytes, programs }: GpuReading, lost: string): GpuReading {
  return {
    usedBytes: new Map([...usedBytes].filter(([uuid]) => uuid !== lost)),
    programs: programs.filter(({ uuid }) => uuid !== lost),
  }
}

/** Parses nvidia-smi's index, UUID, name, MiB, driver; UUID, capability (unknown before driver 510). */
export function parseGpus(lines: string, capabilities: string, visible: string | undefined): Gpu[] {
  const chosen = visible?.split(',').map((item) => item.trim())
  const capabilityOf = new Map(splitRows(capabilities).map(([uuid, capability]) => [uuid, capability]))
  return splitRows(lines).flatMap(
    ([index = '', uuid = '', name = '', mebibytes = '', driverVersion = '']) => {
      const isHidden =
        chosen !== undefined &&
        !chosen.some((item) => item === index || (item !== '' && uuid.startsWith(item)))
      const memoryBytes = Number(mebibytes) * 2 ** 20
      if (isHidden || !/^[\w-]+$/.test(uuid) || !(memoryBytes > 0)) return []
      const capability = capabilityOf.get(uuid) ?? ''
      const computeCapability = /^\d{1,2}\.\d$/.test(capability) ? Number(capability) : null
      return { vendor: 'nvidia' as const, uuid, name, memoryBytes, driverVersion, computeCapability }
    },
  )
}

function splitRows(lines: string): string[][] {
  return lines.split('\n').map((line) => line.split(',').map((field) => field.trim()))
}
