import { execFile } from 'node:child_process'
import { availableParallelism, totalmem } from 'node:os'
import { promisify } from 'node:util'
import { findFreePort } from '../../../../base/free-port.ts'
import type { EngineSpec } from '../../../../ports/model-runtime.ts'
import { toShownCommand } from '../../engines/engine-options.ts'
import { buildLlamaServerArguments, llamaCpp, llamaCppLoras } from '../../engines/llama-cpp.ts'
import { defaultStateCacheBytes } from '../settings.ts'
import type { Command, LocalRuntimeSettings } from '../settings.ts'
import { mebibyte, supervise, versionTimeoutMs } from './local-engine.ts'
import type { DescribedPlace, EngineCommand, EnginePlace, LocalEngine, LocalWeights } from './local-engine.ts'

const run = promisify(execFile)

const allLayers = 999
/** Engines that share the host's cores and memory, because llama-server can't change its part later */
const expectedEngines = 2
/** llama-server says so and goes on without its GPU. */
const usesCpu = /no usable GPU found|offloaded 0\/\d+ layers to GPU/
/** Share of the host's memory that engines on GPUs may use for states of idle conversations */
const promptCacheShare = 0.1
const maxPromptCacheMebibytes = 8192

/** The operator's llama-server, which runs GGUF files instead of Berth's own engine. */
export async function openLlamaServer(
  settings: LocalRuntimeSettings,
  command: Command,
): Promise<LocalEngine> {
  return {
    facts: { ...llamaCpp, loras: llamaCppLoras, version: await findVersion(command) },
    describe: (spec, place) => {
      const projector = spec.variant.engines.llamaCpp?.projector ?? null
      const args = listArguments(settings, spec, { model: '', projector, loras: [] }, place, 0)
      return toShownCommand(['llama-server'], args)
    },
    build: (spec, weights, place) => buildLlamaServer(settings, command, spec, weights, place),
  }
}

/** The build of llama.cpp that a `llama-server` is, such as `10964`; null when unknown. */
async function findVersion([program, ...args]: Command): Promise<string | null> {
  try {
    const { stdout, stderr } = await run(program, [...args, '--version'], { timeout: versionTimeoutMs })
    const text = `${stdout}\n${stderr}`
    return /\(build (\d+)/.exec(text)?.[1] ?? /^version: (\d+) /m.exec(text)?.[1] ?? null
  } catch {
    return null
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
