import { join } from 'node:path'
import { findFreePort } from '../../../../base/free-port.ts'
import type { EngineSpec } from '../../../../ports/model-runtime.ts'
import { toShownCommand } from '../../engines/engine-options.ts'
import { buildVllmArguments, vllm, vllmLoras } from '../../engines/vllm.ts'
import type { FoundEngine } from '../inventory/types.ts'
import type { LocalRuntimeSettings } from '../settings.ts'
import { supervise } from './local-engine.ts'
import type { DescribedPlace, EngineCommand, EnginePlace, LocalEngine, LocalWeights } from './local-engine.ts'

/** A vLLM that was built for the CPU */
const usesCpu = /detected platform cpu/

/** A vLLM of this host. */
export function openVllm(settings: LocalRuntimeSettings, engine: FoundEngine): LocalEngine {
  return {
    facts: { ...vllm, loras: vllmLoras, version: engine.version },
    describe: (spec, place) =>
      toShownCommand(
        ['vllm', 'serve'],
        listArguments(settings, spec, { model: spec.variant.modelName, loras: [] }, place, 0),
      ),
    build: (spec, weights, place) => buildVllm(settings, engine, spec, weights, place),
  }
}

async function buildVllm(
  settings: LocalRuntimeSettings,
  { command, version }: FoundEngine,
  spec: EngineSpec,
  weights: LocalWeights,
  place: EnginePlace,
): Promise<EngineCommand> {
  const { gpus, gpuModel, rights } = place
  const port = await findFreePort()
  const args = listArguments(settings, spec, weights, place, port)
  const device = (gpuModel ?? 'cpu').toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const cache = join(rights.cacheDirectory, `vllm-${version ?? 'unknown'}`, device)
  const variables = {
    // Compiled kernels outlive the engine, so that its next start doesn't compile.
    VLLM_CACHE_ROOT: join(cache, 'vllm'),
    TORCHINDUCTOR_CACHE_DIR: join(cache, 'inductor'),
    TRITON_CACHE_DIR: join(cache, 'triton'),
    HF_HUB_OFFLINE: '1',
    VLLM_NO_USAGE_STATS: '1',
    VLLM_MEDIA_URL_ALLOW_REDIRECTS: '0',
    ...(gpus === null
      ? { VLLM_CPU_KVCACHE_SPACE: String(Math.max(1, Math.floor(spec.memoryBytes / 2 ** 30))) }
      : {}),
  }
  return supervise({
    title: 'vLLM',
    port,
    command: [...command!, 'serve', ...args],
    variables,
    noGpu: gpus === null ? null : usesCpu,
  })
}

function listArguments(
  settings: LocalRuntimeSettings,
  spec: EngineSpec,
  { model, loras }: Pick<LocalWeights, 'model' | 'loras'>,
  { computeCapability, memoryShare }: DescribedPlace,
  port: number,
): string[] {
  return buildVllmArguments({
    spec,
    model,
    loras,
    host: '127.0.0.1',
    port,
    gpus: Math.max(1, spec.gpuCount),
    computeCapability,
    memoryShare,
    mediaDomains: settings.mediaDomains ?? [],
  })
}
