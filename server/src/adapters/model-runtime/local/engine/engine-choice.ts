import type { EngineSpec } from '../../../../ports/model-runtime.ts'
import type { RuntimeEngine } from '../../../../ports/runtime-engine.ts'
import type { Gpu } from '../gpus.ts'
import { limitToGpus } from '../limit-to-gpus.ts'
import { findLibrary } from '../inventory/inventory.ts'
import type { Inventory } from '../inventory/inventory.ts'
import { listVersions } from '../inventory/judge.ts'
import { buildLibraryPath } from '../inventory/library-path.ts'
import type { FoundEngine } from '../inventory/types.ts'
import type { LocalRuntimeSettings } from '../settings.ts'
import { chooseCache } from './containment.ts'
import type { EngineRights } from './containment.ts'
import { openEmbedded } from './embedded.ts'
import type { EngineStart } from './engine-control.ts'
import { openLlamaServer } from './llama-server.ts'
import type { DescribedPlace, EnginePlace, LocalEngine, LocalWeights } from './local-engine.ts'
import { openVllm } from './vllm.ts'

/** The engines of this host. */
export interface LocalEngines {
  /** In the order of the formats that they load */
  list: readonly RuntimeEngine[]
  /** The command line of the engine that loads the variant, for people; null if it takes no options. */
  describe(spec: EngineSpec, place: DescribedPlace): readonly string[] | null
  /** Builds the command of the engine that loads the variant, for weights on this host. */
  build(spec: EngineSpec, weights: LocalWeights, place: EnginePlace): Promise<EngineStart>
}

/** Opens the engines that an inventory has chosen. */
export function openEngines(settings: LocalRuntimeSettings, inventory: Inventory): LocalEngines {
  const engines = inventory.chosen.map((engine) => openVersions(settings, inventory, engine))
  return {
    list: engines.map(({ facts }) => facts),
    describe: (spec, place) => findEngine(engines, spec).describe(spec, place),
    async build(spec, weights, place) {
      const start = await findEngine(engines, spec).build(spec, weights, place)
      const { gpus, hidesGpus, rights } = place
      const shown = hidesGpus ? [] : gpus
      const onGpus = shown === null ? {} : await describeGpus(settings, inventory, shown, rights)
      return { ...start, apiKey: spec.apiKey, rights, variables: { ...start.variables, ...onGpus } }
    },
  }
}

/** A chosen engine in all of its versions. */
interface VersionedEngine {
  facts: RuntimeEngine
  /** Returns a version, or the newest one without it. */
  choose(version: string | undefined): LocalEngine
}

function openVersions(
  settings: LocalRuntimeSettings,
  { engines, devices }: Inventory,
  chosen: FoundEngine,
): VersionedEngine {
  const gpus = devices.map(({ gpu }) => gpu)
  const newest = openEngine(settings, chosen, gpus)
  const others = listVersions(engines, devices, chosen).map((engine) => openEngine(settings, engine, gpus))
  const versions = others.flatMap(({ facts }) => facts.version ?? [])
  return {
    facts: versions.length === 0 ? newest.facts : { ...newest.facts, versions },
    choose: (version) => others.find(({ facts }) => facts.version === version) ?? newest,
  }
}

function findEngine(
  engines: readonly VersionedEngine[],
  { variant: { format }, engineVersion }: EngineSpec,
): LocalEngine {
  const engine = engines.find(({ facts }) => facts.formats.includes(format))
  if (engine === undefined) throw new Error(`no engine of this host loads ${format}`)
  return engine.choose(engineVersion)
}

/** Opens an engine of a host with these GPUs. */
export function openEngine(
  settings: LocalRuntimeSettings,
  engine: FoundEngine,
  hostGpus: readonly Gpu[],
): LocalEngine {
  switch (engine.name) {
    case 'embedded':
      return openEmbedded(settings)
    case 'llama-server':
      return openLlamaServer(settings, engine, hostGpus)
    case 'vllm':
      return openVllm(settings, engine)
  }
}

/** Variables of an engine on a host with GPUs, which sees only these */
async function describeGpus(
  { environment }: LocalRuntimeSettings,
  inventory: Inventory,
  gpus: readonly string[],
  rights: EngineRights,
): Promise<Record<string, string>> {
  const libraries = buildLibraryPath(findLibrary(inventory, gpus), inventory.cudaFolders, environment)
  return {
    ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }),
    ...limitToGpus(inventory.devices[0]?.gpu.vendor ?? 'nvidia', gpus),
    // The driver compiles for GPUs such as the H100. Its default folder, in the home, is lost in containers.
    CUDA_CACHE_PATH: await chooseCache(rights, 'cuda', environment['CUDA_CACHE_PATH']),
  }
}
