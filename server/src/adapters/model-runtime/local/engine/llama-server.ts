import { availableParallelism, totalmem } from 'node:os'
import { findFreePort } from '../../../../base/free-port.ts'
import type { EngineSpec } from '../../../../ports/model-runtime.ts'
import { toShownCommand } from '../../engines/engine-options.ts'
import { buildLlamaServerArguments, llamaCpp, llamaCppLoras } from '../../engines/llama-cpp.ts'
import { defaultStateCacheBytes } from '../settings.ts'
import type { Gpu } from '../gpus.ts'
import { probeTimeoutMs } from '../inventory/probe-device.ts'
import type { FoundEngine } from '../inventory/types.ts'
import { limitToGpus } from '../limit-to-gpus.ts'
import { runProgram } from '../run-program.ts'
import type { Command, LocalRuntimeSettings } from '../settings.ts'
import { pickEnvironment } from './engine-environment.ts'
import { chooseDevices, parseDevices } from './llama-devices.ts'
import { mebibyte, supervise } from './local-engine.ts'
import type { DescribedPlace, EngineCommand, EnginePlace, LocalEngine, LocalWeights } from './local-engine.ts'

const allLayers = 999
/** Without it, a build for Vulkan computes large products on a GPU also if no layer is there. */
const noDevices = ['none']
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
  hostGpus: readonly Gpu[],
): LocalEngine {
  return {
    facts: { ...llamaCpp, loras: llamaCppLoras, version },
    describe: (spec, place) => {
      const projector = spec.variant.engines.llamaCpp?.projector ?? null
      const devices = place.hidesGpus ? noDevices : undefined
      const args = listArguments(settings, spec, { model: '', projector, loras: [] }, place, {
        port: 0,
        devices,
      })
      return toShownCommand(['llama-server'], args)
    },
    build: (spec, weights, place) =>
      buildLlamaServer(settings, { command: command!, hostGpus }, spec, weights, place),
  }
}

async function buildLlamaServer(
  settings: LocalRuntimeSettings,
  { command, hostGpus }: { command: Command; hostGpus: readonly Gpu[] },
  spec: EngineSpec,
  weights: LocalWeights,
  place: EnginePlace,
): Promise<EngineCommand> {
  const port = await findFreePort()
  const devices = place.hidesGpus ? noDevices : await findDevices(settings, command, hostGpus, place)
  return supervise({
    title: 'llama-server',
    port,
    command: [...command, ...listArguments(settings, spec, weights, place, { port, devices })],
    variables: {},
    noGpu: place.gpus === null ? null : usesCpu,
  })
}

/** Asks a llama-server for its devices if the host has GPUs that the engine must not use. */
async function findDevices(
  { environment }: LocalRuntimeSettings,
  command: Command,
  hostGpus: readonly Gpu[],
  { gpus }: EnginePlace,
): Promise<readonly string[] | undefined> {
  const [first] = hostGpus
  if (gpus === null || first === undefined || hostGpus.length <= gpus.length) return undefined
  const answer = await runProgram([...command, '--list-devices'], {
    environment: { ...pickEnvironment(environment), ...limitToGpus(first.vendor, gpus) },
    timeoutMs: probeTimeoutMs,
  })
  return chooseDevices(parseDevices(answer.stdout + answer.stderr), hostGpus, gpus)
}

function listArguments(
  settings: LocalRuntimeSettings,
  spec: EngineSpec,
  { model, projector, loras }: LocalWeights,
  { gpus, hidesGpus }: DescribedPlace,
  { port, devices }: { port: number; devices: readonly string[] | undefined },
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
    devices,
    threads: gpus === null ? Math.max(1, Math.floor(availableParallelism() / expectedEngines)) : undefined,
    // The memory estimate of an engine on the host counts the same amount.
    promptCacheMebibytes:
      gpus === null ? stateCacheBytes / mebibyte : Math.min(maxPromptCacheMebibytes, share),
  })
}
