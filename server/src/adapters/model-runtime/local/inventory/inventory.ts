import { join } from 'node:path'
import { readJson, writeJson } from '../files.ts'
import { findAmdGpus } from '../amd-gpus.ts'
import { findGpus } from '../gpus.ts'
import type { FoundGpus, Gpu } from '../gpus.ts'
import type { Containment } from '../engine/containment.ts'
import type { LocalRuntimeSettings } from '../settings.ts'
import { findEngines } from './find-engines.ts'
import { compareVersionTexts, listInstallations } from './installations.ts'
import { chooseEngines, describeObstacle, describeUnseen, findObstacle, findResult } from './judge.ts'
import type { Obstacle } from './judge.ts'
import { cudaFolder, nameProbe, probeDevice } from './probe-device.ts'
import type { ProbeContext } from './probe-device.ts'
import type { CudaLibrary, DeviceReport, FoundEngine, ProbeDevice, ProbeResult } from './types.ts'

/** What can run on this host: its devices and engines, and why an engine can use a device or not. */
export interface Inventory {
  /** All engines of this host, also those that aren't used */
  engines: readonly FoundEngine[]
  /** The engines that serve, at most one for each format */
  chosen: readonly FoundEngine[]
  /** The GPUs, each with the result of all engines */
  devices: readonly DeviceReport[]
  /** Why GPUs may be missing; null if the driver tells them */
  unseen: Obstacle | null
  /** Folders of CUDA's runtime that Berth has installed */
  cudaFolders: readonly string[]
}

/** Probes outlive a server, because they take seconds, or minutes if a driver compiles. */
const cacheName = 'engine-probes.json'

/** Looks for devices and engines, and probes each pair that it doesn't know yet. */
export async function takeInventory(
  settings: LocalRuntimeSettings,
  containment: Containment,
): Promise<Inventory> {
  const [engines, { gpus, problem }, installations] = await Promise.all([
    findEngines(settings, containment.rights.account),
    findDevices(settings),
    listInstallations(settings.dataDirectory),
  ])
  const cudaFolders = installations
    .filter(({ name }) => name === 'cuda')
    .toSorted((one, other) => compareVersionTexts(other.version, one.version))
    .map(({ folder }) => cudaFolder(folder))
  const devices =
    gpus.length === 0 ? [] : await examineDevices(settings, containment, engines, gpus, cudaFolders)
  const unseen = problem === null ? null : describeUnseen(problem)
  return { engines, chosen: chooseEngines(engines, devices), devices, unseen, cudaFolders }
}

/** The GPUs of this host, whichever engines can use them. */
export async function findDevices({
  environment,
}: Pick<LocalRuntimeSettings, 'environment'>): Promise<FoundGpus> {
  const isApple = process.platform === 'darwin' && process.arch === 'arm64'
  if (environment['NODE_LLAMA_CPP_GPU'] === 'false' || isApple) return { gpus: [], problem: null }
  const found = await findGpus(environment)
  return found.gpus.length > 0 ? found : { ...found, gpus: await findAmdGpus(environment) }
}

async function examineDevices(
  settings: LocalRuntimeSettings,
  containment: Containment,
  engines: readonly FoundEngine[],
  gpus: readonly Gpu[],
  cudaFolders: readonly string[],
): Promise<DeviceReport[]> {
  const context: ProbeContext = { settings, rights: await containment.prepareProbe(), cudaFolders }
  const probe = settings.probeDevice ?? ((engine, gpu) => probeDevice(context, engine, gpu))
  const cache = await openCache(settings.dataDirectory, probe, cudaFolders)
  const usable = engines.filter(({ problem }) => problem === null)
  const reports: DeviceReport[] = []
  // One after the other: a probe takes memory of its GPU.
  for (const gpu of gpus) {
    const uses: { engine: FoundEngine; result: ProbeResult }[] = []
    for (const engine of usable) uses.push({ engine, result: await cache.probe(engine, gpu) })
    reports.push({ gpu, uses })
  }
  await cache.save()
  return reports
}

/** Keeps what probes found. A failure may end with a new library, so each start tries again. */
async function openCache(dataDirectory: string, probe: ProbeDevice, cudaFolders: readonly string[]) {
  const path = join(dataDirectory, cacheName)
  const known = new Map(Object.entries((await readJson(path)) ?? {}))
  const tried = new Map<string, ProbeResult>()
  return {
    async probe(engine: FoundEngine, gpu: Gpu): Promise<ProbeResult> {
      const name = nameProbe(engine, gpu, cudaFolders)
      const result = tried.get(name) ?? readKnown(known.get(name)) ?? (await probe(engine, gpu))
      tried.set(name, result)
      return result
    },
    async save(): Promise<void> {
      const working = [...tried].flatMap(([name, result]) => (result.works ? [[name, result.library]] : []))
      const kept = Object.fromEntries(working) as Record<string, CudaLibrary | null>
      if (JSON.stringify(kept) !== JSON.stringify(Object.fromEntries(known))) await writeJson(path, kept)
    },
  }
}

function readKnown(value: unknown): ProbeResult | null {
  return value === null || value === 'cuda-12' || value === 'cuda-13' ? { works: true, library: value } : null
}

/** The formats that engines load, each with the names of its engine. */
export interface DeviceFormats {
  /** Of the engines that can use the GPU */
  formats: string[]
  /** Why some or all chosen engines can't use it, as sentences; null if all can */
  obstacle: string | null
}

/** What the chosen engines can do on a GPU. `formatsOf` lists the formats of an engine. */
export function describeUse(
  inventory: Inventory,
  device: DeviceReport,
  formatsOf: (engine: FoundEngine) => readonly string[],
): DeviceFormats {
  const formats = inventory.chosen.flatMap((engine) =>
    findResult(device, engine)?.works === true ? formatsOf(engine) : [],
  )
  const obstacle = findObstacle(device, inventory.chosen, inventory.engines)
  return { formats, obstacle: obstacle === null ? null : describeObstacle(obstacle) }
}

/** The build of Berth's engine that works on a GPU; null if it has only one */
export function findLibrary({ devices }: Inventory, uuids: readonly string[]): CudaLibrary | null {
  const results = devices
    .filter(({ gpu }) => uuids.includes(gpu.uuid))
    .flatMap(({ uses }) => uses.filter(({ engine }) => engine.name === 'embedded'))
  const libraries = results.flatMap(({ result }) => (result.works ? result.library : []))
  return libraries.includes('cuda-12') ? 'cuda-12' : (libraries[0] ?? null)
}
