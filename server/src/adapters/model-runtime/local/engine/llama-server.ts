import { availableParallelism, totalmem } from 'node:os'
import { findFreePort } from '../../../../base/free-port.ts'
import type { EngineSpec } from '../../../../ports/model-runtime.ts'
import { toShownCommand } from '../../engines/engine-options.ts'
import { buildLlamaServerArguments, llamaCpp, llamaCppLoras } from '../../engines/llama-cpp.ts'
import { defaultStateCacheBytes } from '../settings.ts'
import type { FoundEngine } from '../inventory/types.ts'
import type { Command, LocalRuntimeSettings } from '../settings.ts'
import { mebibyte, supervise } from './local-engine.ts'
import type { DescribedPlace, EngineCommand, EnginePlace, LocalEngine, LocalWeights } from './local-engine.ts'

const allLayers = 999
/** Engines that share the host's cores and memory, because llama-server can't change its part later */
const expectedEngines = 2
/** llama-server says so and goes on without its GPU. */
const usesCpu = /no usable GPU found|offloaded 0\/\d+ layers to GPU/
/** Share of the host's memory that engines on GPUs may use for states of idle conversations */
const promptCacheShare = 0.1
const maxPromptCacheMebibytes = 8192

/** A llama-server of this host, which runs GGUF files instead of Berth's own engine. */
export function openLlamaServer(
  settings: LocalRuntimeSettings,
  { command, version }: FoundEngine,
): LocalEngine {
  return {
    facts: { ...llamaCpp, loras: llamaCppLoras, version },
    describe: (spec, place) => {
      const projector = spec.variant.engines.llamaCpp?.projector ?? null
      const args = listArguments(settings, spec, { model: '', projector, loras: [] }, place, 0)
      return toShownCommand(['llama-server'], args)
    },
    build: (spec, weights, place) => buildLlamaServer(settings, command!, spec, weights, place),
  }
}

async function buildLlamaServer(
  settings: LocalRuntimeSettings,
  command: Command,
  spec: EngineSpec,
  weights: LocalWeights,
  place: EnginePlace,
): Promise<EngineCommand> {
  const port = await findFreePort()
  return supervise({
    title: 'llama-server',
    port,
    command: [...command, ...listArguments(settings, spec, weights, place, port)],
    variables: {},
    noGpu: place.gpus === null ? null : usesCpu,
  })
}

function listArguments(
  settings: LocalRuntimeSettings,
  spec: EngineSpec,
  { model, projector, loras }: LocalWeights,
  { gpus, hidesGpus }: DescribedPlace,
  port: number,
): string[] {
  const { stateCacheBytes = defaultStateCacheBytes } = settings
  const share = Math.floor((totalmem() * promptCacheShare) / expectedEngines / mebibyte)
  return buildLlamaServerArguments({
    spec,
    source: { model },
    projector: projector === null ? null : { mmproj: projector },
    loras,
    host: '127.0.0.1',
    port,
    // A build for Metal, ROCm or Vulkan uses a GPU unknown to Berth; one for the CPU ignores the option.
    gpuLayers: hidesGpus || settings.environment['NODE_LLAMA_CPP_GPU'] === 'false' ? 0 : allLayers,
    threads: gpus === null ? Math.max(1, Math.floor(availableParallelism() / expectedEngines)) : undefined,
    // The memory estimate of an engine on the host counts the same amount.
    promptCacheMebibytes:
      gpus === null ? stateCacheBytes / mebibyte : Math.min(maxPromptCacheMebibytes, share),
  })
}
