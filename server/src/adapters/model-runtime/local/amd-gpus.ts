import type { GpuProgram, GpuReading, ReadGpus } from './gpu-reader.ts'
import type { Gpu } from './gpus.ts'
import { runProgram } from './run-program.ts'

type Environment = Record<string, string | undefined>
type Json = Record<string, unknown>

const timeoutMs = 10_000
/** The memory of a processor's own graphics is part of the host's. */
const leastMemoryBytes = 4 * 2 ** 30

/**
 * Lists the AMD GPUs that `ROCR_VISIBLE_DEVICES` allows, by amd-smi (ROCm 6.1 and newer) or rocm-smi; none
 * without these programs. GPUs without a UUID are left out, because a UUID limits an engine to its GPUs.
 */
export async function findAmdGpus(environment: Environment): Promise<Gpu[]> {
  const [cards, facts] = await Promise.all([
    runAmd('amd-smi', ['list', '--json'], environment),
    runAmd('amd-smi', ['static', '--asic', '--vram', '--driver', '--json'], environment),
  ])
  const gpus = cards === null ? await findWithRocm(environment) : parseAmdGpus(cards, facts)
  const visible = environment['ROCR_VISIBLE_DEVICES']?.split(',').map((item) => item.trim().toLowerCase())
  return gpus.filter(
    ({ uuid }, index) =>
      visible?.some((item) => item === String(index) || item === uuid.toLowerCase()) ?? true,
  )
}

/** Reads the memory in use and the programs that use it, by the program that lists the GPUs. */
export function createAmdReading(environment: Environment): ReadGpus {
  return async () => {
    const [cards, use, programs] = await Promise.all([
      runAmd('amd-smi', ['list', '--json'], environment),
      runAmd('amd-smi', ['metric', '--mem-usage', '--json'], environment),
      runAmd('amd-smi', ['process', '--json'], environment),
    ])
    if (cards !== null) return parseAmdUse(cards, use, programs)
    const rocm = await runAmd('rocm-smi', rocmArguments, environment)
    return rocm === null ? null : parseRocmUse(rocm)
  }
}

async function findWithRocm(environment: Environment): Promise<Gpu[]> {
  const cards = await runAmd('rocm-smi', rocmArguments, environment)
  return cards === null ? [] : parseRocmGpus(cards)
}

const rocmArguments = [
  '--showuniqueid',
  '--showproductname',
  '--showmeminfo',
  'vram',
  '--showdriverversion',
  '--json',
]

/** The JSON that a program prints; null if it is missing, hangs, fails or prints anything else. */
async function runAmd(program: string, args: readonly string[], environment: Environment): Promise<unknown> {
  const run = await runProgram([program, ...args], { environment, timeoutMs })
  if (run.outcome === 'failed') return null
  try {
    // Warnings may stand before it.
    return JSON.parse(run.stdout.slice(Math.max(0, run.stdout.search(/[[{]/))))
  } catch {
    return null
  }
}

/** Parses `amd-smi list` and `amd-smi static`. */
export function parseAmdGpus(cards: unknown, facts: unknown): Gpu[] {
  const factsOf = new Map(listCards(facts).map((each) => [each['gpu'], each]))
  return listCards(cards).flatMap((card) => {
    const known = factsOf.get(card['gpu'])
    const memoryBytes = toBytes(member(known, 'vram', 'size'))
    return toGpu(
      findUuid(card),
      member(known, 'asic', 'market_name'),
      memoryBytes,
      member(known, 'driver', 'version'),
    )
  })
}

/** Parses `amd-smi list`, `amd-smi metric --mem-usage` and `amd-smi process`. */
export function parseAmdUse(cards: unknown, use: unknown, programs: unknown): GpuReading | null {
  const uuidOf = new Map(listCards(cards).map((card) => [card['gpu'], findUuid(card)]))
  const usedBytes = new Map<string, number>()
  for (const each of listCards(use)) {
    const uuid = uuidOf.get(each['gpu'])
    const used = toBytes(member(each, 'mem_usage', 'used_vram'))
    if (typeof uuid === 'string' && used !== null) usedBytes.set(uuid, used)
  }
  if (usedBytes.size === 0) return null
  return {
    usedBytes,
    programs: listCards(programs).flatMap((each) => {
      const uuid = uuidOf.get(each['gpu'])
      const list = each['process_list']
      return typeof uuid === 'string' && Array.isArray(list)
        ? list.flatMap((entry) => toProgram(uuid, entry))
        : []
    }),
  }
}

function toProgram(uuid: string, entry: unknown): GpuProgram[] {
  const info = member(entry, 'process_info')
  const [pid, name] = [Number(member(info, 'pid')), member(info, 'name')]
  const bytes = toBytes(member(info, 'memory_usage', 'vram_mem') ?? member(info, 'vram_mem'))
  // Programs that only look at the GPU are listed too.
  if (!Number.isSafeInteger(pid) || pid <= 0 || bytes === 0) return []
  return [{ uuid, pid, name: typeof name === 'string' && name !== 'N/A' ? name : '', bytes }]
}

/** Parses rocm-smi: an object with a member for each card. It doesn't tell which programs use a card. */
export function parseRocmGpus(cards: unknown): Gpu[] {
  const driver = member(cards, 'system', 'Driver version')
  return listRocmCards(cards).flatMap((card) => {
    const name = [card['Card Series'], card['Card series'], card['Card Model'], card['Card model']].find(
      (each) => typeof each === 'string' && each !== 'N/A' && !each.startsWith('0x'),
    )
    return toGpu(toRocmUuid(card), name, Number(card['VRAM Total Memory (B)']), driver)
  })
}

export function parseRocmUse(cards: unknown): GpuReading | null {
  const used = listRocmCards(cards).flatMap((card): [string, number][] => {
    const uuid = toRocmUuid(card)
    const bytes = Number(card['VRAM Total Used Memory (B)'])
    return uuid !== null && bytes >= 0 ? [[uuid, bytes]] : []
  })
  return used.length === 0 ? null : { usedBytes: new Map(used), programs: [] }
}

function toGpu(uuid: string | null, name: unknown, memoryBytes: number | null, driver: unknown): Gpu[] {
  if (uuid === null || memoryBytes === null || !(memoryBytes >= leastMemoryBytes)) return []
  return [
    {
      uuid,
      vendor: 'amd',
      name: typeof name === 'string' ? name : 'AMD GPU',
      memoryBytes,
      driverVersion: typeof driver === 'string' ? driver : '',
      computeCapability: null,
    },
  ]
}

/**
 * The UUID that ROCm's runtime knows: `GPU-9f444a2fb30adeb0` for amd-smi's
 * 9fff74b9-0000-1000-8044-4a2fb30adeb0. Newer versions print it too.
 */
function findUuid({ hip_uuid: hipUuid, uuid }: Json): string | null {
  if (typeof hipUuid === 'string' && /^GPU-[0-9a-f]{16}$/.test(hipUuid)) return hipUuid
  const [, first, second, third] =
    /^([0-9a-f]{2})[0-9a-f]{6}-0000-1000-80([0-9a-f]{2})-([0-9a-f]{12})$/i.exec(String(uuid)) ?? []
  return first === undefined ? null : `GPU-${`${first}${second}${third}`.toLowerCase()}`
}

function toRocmUuid({ 'Unique ID': id }: Json): string | null {
  const [, digits] = /^0x([0-9a-f]{1,16})$/i.exec(String(id)) ?? []
  return digits === undefined ? null : `GPU-${digits.toLowerCase().padStart(16, '0')}`
}

/** The objects of GPUs: a list in ROCm 6, the member `gpu_data` of an object in ROCm 7 */
function listCards(output: unknown): Json[] {
  const list = Array.isArray(output) ? output : member(output, 'gpu_data')
  return Array.isArray(list) ? list.filter(isObject) : []
}

function listRocmCards(output: unknown): Json[] {
  if (!isObject(output)) return []
  return Object.entries(output).flatMap(([name, card]) =>
    /^card\d+$/.test(name) && isObject(card) ? [card] : [],
  )
}

const units: Readonly<Record<string, number>> = {
  B: 1,
  KB: 2 ** 10,
  MB: 2 ** 20,
  GB: 2 ** 30,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
}

/** Bytes of `{value, unit}`, whose units are binary; null for `N/A` */
function toBytes(quantity: unknown): number | null {
  const value = member(quantity, 'value')
  const bytes = Number(value) * (units[String(member(quantity, 'unit')).toUpperCase()] ?? Number.NaN)
  return typeof value === 'number' && bytes >= 0 ? bytes : null
}

function member(value: unknown, ...path: string[]): unknown {
  return path.reduce((each: unknown, name) => (isObject(each) ? each[name] : undefined), value)
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
