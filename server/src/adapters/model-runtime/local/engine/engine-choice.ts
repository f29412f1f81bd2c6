import type { EngineSpec } from '../../../../ports/model-runtime.ts'
import type { RuntimeEngine } from '../../../../ports/runtime-engine.ts'
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

/** Finds the engines that the settings name, and their versions. */
export async function openEngines(settings: LocalRuntimeSettings): Promise<LocalEngines> {
  const { llamaServerCommand: llamaServer = null, vllmCommand: vllm = null } = settings
  const engines = await Promise.all([
    llamaServer === null ? openEmbedded(settings) : openLlamaServer(settings, llamaServer),
    ...(vllm === null ? [] : [openVllm(settings, vllm)]),
  ])
  return {
    list: engines.map(({ facts }) => facts),
    describe: (spec, place) => findEngine(engines, spec).describe(spec, place),
    async build(spec, weights, place) {
      const start = await findEngine(engines, spec).build(spec, weights, place)
      const { gpus, hidesGpus, rights } = place
      const shown = hidesGpus ? [] : gpus
      const onGpus = shown === null ? {} : await describeGpus(settings, shown, rights)
      return { ...start, apiKey: spec.apiKey, rights, variables: { ...start.variables, ...onGpus } }
    },
  }
}

function findEngine(engines: readonly LocalEngine[], { variant: { format } }: EngineSpec): LocalEngine {
  const engine = engines.find(({ facts }) => facts.formats.includes(format))
  if (engine === undefined) throw new Error(`no engine of this host loads ${format}`)
  return engine
}

/** Variables of an engine on a host with GPUs, which sees only these */
async function describeGpus(
  { environment }: LocalRuntimeSettings,
  gpus: readonly string[],
  rights: EngineRights,
): Promise<Record<string, string>> {
  return {
    CUDA_VISIBLE_DEVICES: gpus.join(','),
    // The driver compiles for GPUs such as the H100. Its default folder, in the home, is lost in containers.
    CUDA_CACHE_PATH: await chooseCache(rights, 'cuda', environment['CUDA_CACHE_PATH']),
  }
}
