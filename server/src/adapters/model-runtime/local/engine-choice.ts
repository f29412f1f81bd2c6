import { availableParallelism, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import getPort from 'get-port'
import type { EngineSpec, RuntimeEngine } from '../../../ports/model-runtime.ts'
import { buildLlamaServerArguments } from '../engine-arguments/llama-server.ts'
import { buildVllmArguments, vllmFormats } from '../engine-arguments/vllm.ts'
import type { EngineStart } from './engine-control.ts'
import { chooseThreads } from './host.ts'
import { findLlamaServerVersion, findVllmVersion, type Command } from './programs.ts'
import { DEFAULT_STATE_CACHE_BYTES } from './settings.ts'
import type { LocalRuntimeSettings } from './settings.ts'

/** The engines of this host. */
export interface LocalEngines {
  /** In the order of the formats that they load */
  list: readonly RuntimeEngine[]
  /** Builds the command of an engine for weights on this host. */
  build(spec: EngineSpec, weights: LocalWeights, place: EnginePlace): Promise<EngineStart>
}

/** The GPUs of an engine. */
export interface EnginePlace {
  /** UUIDs; null if the engine shares the memory of the host */
  gpus: readonly string[] | null
  /** Such as `NVIDIA L4`; null without GPUs */
  gpuModel: string | null
  /** Such as 8.9; null when unknown or without NVIDIA GPUs */
  computeCapability: number | null
}

/** The weights of a model on this host. */
export interface LocalWeights {
  /** A GGUF file, or the folder of a Hugging Face repository */
  model: string
  /** The multimodal projector; null for none */
  projector: string | null
}

/** Runs a server that knows no launch files */
const SUPERVISOR = fileURLToPath(new URL('../../../../../engine/src/supervise.ts', import.meta.url))
const ALL_LAYERS = 999
const MEBIBYTE = 2 ** 20
/** Share of the host's memory that engines on GPUs may use for states of idle conversations */
const PROMPT_CACHE_SHARE = 0.1
const MAX_PROMPT_CACHE_MEBIBYTES = 8192

/** Finds the engines that the settings name, and their versions. */
export async function openEngines(settings: LocalRuntimeSettings): Promise<LocalEngines> {
  const {
    llamaServerCommand: llamaServer = null,
    vllmCommand: vllm = null,
    stateCacheBytes = DEFAULT_STATE_CACHE_BYTES,
  } = settings
  const [llamaServerVersion, vllmVersion] = await Promise.all([
    llamaServer && findLlamaServerVersion(llamaServer),
    vllm && findVllmVersion(vllm),
  ])
  const list: RuntimeEngine[] = [
    llamaServer === null
      ? { name: 'embedded', formats: ['ggufv2'], version: null, acceptsImages: false }
      : { name: 'llama.cpp', formats: ['ggufv2'], version: llamaServerVersion, acceptsImages: true },
    ...(vllm === null
      ? []
      : [{ name: 'vllm' as const, formats: vllmFormats, version: vllmVersion, acceptsImages: true }]),
  ]
  const expectedEngines = settings.expectedEngines ?? 2
  const threads = chooseThreads(availableParallelism(), expectedEngines)

  function buildEmbedded(spec: EngineSpec, { model }: LocalWeights): Omit<EngineStart, 'apiKey'> {
    const options = {
      model,
      alias: spec.modelUid,
      type: spec.variant.modelType === 'embedding' ? 'embedding' : 'chat',
      context: spec.contextTokens,
      parallel: spec.parallelSequences,
      threads,
      'state-cache-mib': stateCacheBytes / MEBIBYTE,
    }
    return {
      args: Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
      variables: {
        // Otherwise malloc keeps memory that the threads freed after the load, about 70 MB in total.
        MALLOC_ARENA_MAX: '1',
        MALLOC_MMAP_THRESHOLD_: '131072',
        // The next engine doesn't compile the same code, and has no TypeScript compiler in memory.
        NODE_COMPILE_CACHE: join(settings.dataDirectory, 'compile-cache', 'node'),
      },
    }
  }

  async function buildLlamaServer(
    command: Command,
    spec: EngineSpec,
    { model, projector }: LocalWeights,
    { gpus }: EnginePlace,
  ): Promise<Omit<EngineStart, 'apiKey'>> {
    const port = await getPort({ host: '127.0.0.1' })
    const share = Math.floor((totalmem() * PROMPT_CACHE_SHARE) / expectedEngines / MEBIBYTE)
    const args = buildLlamaServerArguments({
      spec,
      source: { model },
      projector: projector === null ? null : { mmproj: projector },
      host: '127.0.0.1',
      port,
      // A llama-server for Metal, ROCm or Vulkan uses a GPU that Berth doesn't know; one for the CPU ignores the option.
      gpuLayers: settings.environment['NODE_LLAMA_CPP_GPU'] === 'false' ? 0 : ALL_LAYERS,
      threads: gpus === null ? threads : undefined,
      // The memory estimate of an engine on the host counts the same amount.
      promptCacheMebibytes:
        gpus === null ? stateCacheBytes / MEBIBYTE : Math.min(MAX_PROMPT_CACHE_MEBIBYTES, share),
    })
    return supervise('llama-server', port, [...command, ...args], {})
  }

  async function buildVllm(
    command: Command,
    spec: EngineSpec,
    { model }: LocalWeights,
    { gpus, gpuModel, computeCapability }: EnginePlace,
  ): Promise<Omit<EngineStart, 'apiKey'>> {
    const port = await getPort({ host: '127.0.0.1' })
    const args = buildVllmArguments({
      spec,
      model,
      host: '127.0.0.1',
      port,
      gpus: Math.max(1, spec.gpuCount),
      computeCapability,
      memoryShare: settings.gpuMemoryShare ?? 0.9,
    })
    const device = (gpuModel ?? 'cpu').toLowerCase().replace(/[^a-z0-9]+/g, '-')
    const version = `vllm-${vllmVersion ?? 'unknown'}`
    const cache = join(settings.dataDirectory, 'compile-cache', version, device)
    return supervise('vLLM', port, [...command, 'serve', ...args], {
      // Compiled kernels outlive the engine, so that its next start doesn't compile.
      VLLM_CACHE_ROOT: join(cache, 'vllm'),
      TORCHINDUCTOR_CACHE_DIR: join(cache, 'inductor'),
      TRITON_CACHE_DIR: join(cache, 'triton'),
      HF_HUB_OFFLINE: '1',
      VLLM_NO_USAGE_STATS: '1',
      ...(gpus === null
        ? { VLLM_CPU_KVCACHE_SPACE: String(Math.max(1, Math.floor(spec.memoryBytes / 2 ** 30))) }
        : {}),
    })
  }

  return {
    list,
    async build(spec, weights, place) {
      const isVllm = vllmFormats.includes(spec.variant.format)
      if (isVllm && vllm === null) throw new Error(`no engine of this host loads ${spec.variant.format}`)
      const start =
        isVllm && vllm !== null
          ? await buildVllm(vllm, spec, weights, place)
          : llamaServer === null
            ? buildEmbedded(spec, weights)
            : await buildLlamaServer(llamaServer, spec, weights, place)
      const { gpus } = place
      const visible = gpus === null ? {} : { CUDA_VISIBLE_DEVICES: gpus.join(',') }
      return { ...start, apiKey: spec.apiKey, variables: { ...start.variables, ...visible } }
    },
  }
}

function supervise(
  title: string,
  port: number,
  command: readonly string[],
  variables: Record<string, string>,
): Omit<EngineStart, 'apiKey'> {
  return { program: SUPERVISOR, title, args: ['--port', String(port), '--', ...command], variables }
}
